// expect: tso=safe pso=safe c11=safe
// driver: --assume spurious-failures --cc gcc
// A strong one does not fail without a reason.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int owner;
static void *run(void *p)
{
    int nobody = 0;
    if (!atomic_compare_exchange_strong(&owner, &nobody, 1))
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
