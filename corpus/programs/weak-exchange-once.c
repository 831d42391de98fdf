// expect: error: status 1
// driver: --assume spurious-failures --cc gcc
// A weak compare-exchange that is not repeated: it may fail although nobody else is there.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int owner;
static void *run(void *p)
{
    int nobody = 0;
    if (!atomic_compare_exchange_weak(&owner, &nobody, 1))
        exit(1);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    return 0;
}
