// expect: tso=undecided pso=undecided
// says: `count_locked` of libcounter.so is not instrumented, and touches
// library: counter.c
#include <pthread.h>
int count_locked(void);
static void *other(void *p) { count_locked(); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    other(0);
    pthread_join(t, 0);
}
