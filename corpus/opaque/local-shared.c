// expect: tso=undecided pso=undecided
// says: is not instrumented, and touches
// object: pointer.c
// What is shared is a local variable of main, which code that is not instrumented changes for it.
#include <pthread.h>
void set(int *);
static void *other(void *p) { return (void *)(long)*(volatile int *)p; }
int main(void)
{
    int local = 0;
    pthread_t t;
    pthread_create(&t, 0, other, &local);
    set(&local);
    pthread_join(t, 0);
}
