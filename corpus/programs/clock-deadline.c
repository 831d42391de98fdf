// expect: tso=safe pso=safe
// classes: 20
// A loop that looks at the clock ends at its deadline, however far away.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
static atomic_int go;
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static void *run(void *p)
{
    atomic_store(&go, 1);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    double end = now() + 10;
    while (!atomic_load(&go))
        if (now() > end)
            break;
    pthread_join(t, 0);
    return 0;
}
