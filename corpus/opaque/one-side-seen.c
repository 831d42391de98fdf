// expect: tso=undecided pso=undecided
// says: `raise_flag` of libatomics.so is not instrumented, and touches `flag
// library: atomics.c
// Only one of the threads touches the variable unseen.
#include <pthread.h>
#include <stdatomic.h>
void raise_flag(int);
extern atomic_int flag[2];
static void *other(void *p) { raise_flag(0); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    (void)atomic_load(&flag[0]);
    pthread_join(t, 0);
}
