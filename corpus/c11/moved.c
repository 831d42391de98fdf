// expect: safe
// A structure with atomic members of different sizes is moved as plain memory and then published. Not SC, but no assertion fails.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
struct s { atomic_ushort a; atomic_uchar b, c; atomic_uint d; int data; };
static struct s here, there;
static _Atomic(struct s *) shared;
static atomic_int seen;
static void *reader(void *arg)
{
    struct s *p = atomic_load_explicit(&shared, memory_order_acquire);
    if (p) {
        atomic_store_explicit(&seen, 1, memory_order_relaxed);
        int d = atomic_load_explicit(&p->d, memory_order_relaxed);
        assert(atomic_load_explicit(&p->b, memory_order_relaxed) == 2 && p->data == 7 && (d == 4 || d == 5));
    }
    return arg;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    atomic_init(&here.a, 1), atomic_init(&here.b, 2), atomic_init(&here.c, 3), atomic_init(&here.d, 4);
    here.data = 7;
    memcpy(&there, &here, sizeof there);
    atomic_store_explicit(&shared, &there, memory_order_release);
    atomic_store_explicit(&there.d, 5, memory_order_relaxed);
    atomic_load_explicit(&seen, memory_order_relaxed);
    pthread_join(thread, 0);
}
