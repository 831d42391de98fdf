// expect: tso=undecided pso=undecided
// only: clang
// flags: -DCALL=bit((long*)p,1) -DARGS=0 -O2
// Assembly counts where it is executed.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
__attribute__((unused)) static void bit(long *p, long b)
{
    __asm__ volatile("lock btsq %1, %0" : "+m"(*p) : "r"(b) : "memory", "cc");
}
__attribute__((unused)) static inline unsigned clock_low(void)
{
    unsigned low;
    __asm__ volatile("rdtsc" : "=a"(low) : : "edx");
    return low;
}
__attribute__((unused)) static int jumps(int *p)
{
    __asm__ goto("cmpxchg8b %0\n\tjz %l[yes]" : : "m"(*p) : "memory", "cc", "eax", "edx" : yes);
    return 0;
yes:
    return 1;
}
__asm__(".pushsection .text\n.globl from_outside\nfrom_outside:\n\trdtsc\n\tret\n.popsection");
int from_outside(void);
static void *run(void *p)
{
    atomic_store(&x, 1);
    if (p)
        CALL;
    return p;
}

int main(int argc, char **argv)
{
    pthread_t t;
    (void)argv;
    pthread_create(&t, 0, run, argc > ARGS ? &x : 0);
    (void)atomic_load(&x);
    pthread_join(t, 0);
}
