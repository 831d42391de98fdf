// expect: error
// counts: fewer
// Threads that are alike draw numbers, and one number is bad.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;
static int slots[3];

static void *a(void *p)
{
    int me = atomic_fetch_add(&x, 1);

    slots[me] = me;
    assert(me != 2);
    return p;
}

int main(void)
{
    pthread_t t[3];

    pthread_create(&t[0], NULL, a, NULL);
    pthread_create(&t[1], NULL, a, NULL);
    pthread_create(&t[2], NULL, a, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    pthread_join(t[2], NULL);
    return 0;
}
