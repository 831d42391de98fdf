// expect: error: null pointer
// Only in the order that nobody thought of.
#include <pthread.h>
#include <stdatomic.h>
static _Atomic(int *) p;
static int x;
static void *run(void *arg) { return (void *)(long)*atomic_load(&p); }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store(&p, &x);
    pthread_join(t, 0);
    return 0;
}
