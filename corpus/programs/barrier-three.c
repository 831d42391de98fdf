// expect: tso=safe pso=safe
// Three threads, two rounds: nobody overtakes.
#include <assert.h>
#include <pthread.h>
static pthread_barrier_t b;
static int at[3];
static void *run(void *p)
{
    long i = (long)p;
    for (int round = 1; round <= 2; round++) {
        at[i] = round;
        pthread_barrier_wait(&b);
        assert(at[(i + 1) % 3] == round && at[(i + 2) % 3] == round);
        pthread_barrier_wait(&b);
    }
    return p;
}
int main(void)
{
    pthread_t t[2];
    pthread_barrier_init(&b, 0, 3);
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    run((void *)2);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
