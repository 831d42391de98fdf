// expect: error: segmentation fault
// Writes over a table of membar's own.
#include <pthread.h>
#include <stdint.h>
static void *run(void *p)
{
    volatile uint64_t *table = (uint64_t *)0x10000000;
    for (int i = 0; i < 4096; i++)
        table[i] = 0x4141414141414141;
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    return 0;
}
