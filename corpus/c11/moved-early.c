// expect: error
// A structure with atomic members is published before it is filled by a plain move, which races with them.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
struct s { atomic_ushort a; atomic_uchar b, c; atomic_uint d; };
static struct s here, there;
static _Atomic(struct s *) shared;
static void *reader(void *arg)
{
    struct s *p = atomic_load_explicit(&shared, memory_order_acquire);
    if (p)
        atomic_load_explicit(&p->b, memory_order_relaxed);
    return arg;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    atomic_init(&here.b, 2);
    atomic_store_explicit(&shared, &there, memory_order_release);
    memcpy(&there, &here, sizeof there);
    pthread_join(thread, 0);
}
