// expect: tso=undecided pso=undecided
// says: `raise_flag` of libatomics.so is not instrumented, and touches `flag
// library: atomics.c
#include <pthread.h>
void raise_flag(int);
int see_flag(int);
static void *other(void *p) { raise_flag(0); (void)see_flag(1); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    raise_flag(1);
    (void)see_flag(0);
    pthread_join(t, 0);
}
