// expect: tso=unsafe pso=unsafe
// A barrier for the compiler is none for the machine.
#include <pthread.h>
static volatile int x, y, r0, r1;
static void *run(void *p)
{
    if (p) {
        x = 1;
        __asm__ volatile("" ::: "memory");
        r0 = y;
    } else {
        y = 1;
        __asm__ volatile("" ::: "memory");
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
