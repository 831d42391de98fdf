// expect: tso=safe pso=safe
#include <pthread.h>
static volatile int x, y, r0, r1;
static void *run(void *p)
{
    if (p) {
        x = 1;
        __asm__ volatile("mfence" ::: "memory");
        r0 = y;
    } else {
        y = 1;
        __asm__ volatile("lock; addl $0,0(%%rsp)" ::: "memory", "cc");
        r1 = x;
    }
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
