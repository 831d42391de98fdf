// expect: tso=undecided pso=undecided
// says: `count` of libcounter.so is not instrumented, and touches
// library: counter.c
#include <pthread.h>
int count(void);
static void *other(void *p) { count(); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    other(0);
    pthread_join(t, 0);
}
