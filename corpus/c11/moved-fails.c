// expect: fails
// Store buffering with members of a structure that was moved as plain memory and then published: the assertion fails in an execution that is not SC.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
struct s { atomic_ushort a, b; atomic_uint c; };
static struct s here, there;
static _Atomic(struct s *) shared;
static int one = 1, two = 1;
static void *other(void *arg)
{
    struct s *p = atomic_load_explicit(&shared, memory_order_acquire);
    if (p) {
        atomic_store_explicit(&p->a, 1, memory_order_relaxed);
        one = atomic_load_explicit(&p->b, memory_order_relaxed);
    }
    return arg;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    memcpy(&there, &here, sizeof there);
    atomic_store_explicit(&shared, &there, memory_order_release);
    atomic_store_explicit(&there.b, 1, memory_order_relaxed);
    two = atomic_load_explicit(&there.a, memory_order_relaxed);
    pthread_join(thread, 0);
    assert(one || two);
}
