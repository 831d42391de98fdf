// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
static int n, l, c;
static int swap(int *at, int v)
{
    __asm__ volatile("xchgl %0, %1" : "+r"(v), "+m"(*at) : : "memory");
    return v;
}
static int add(int *at, int v)
{
    __asm__ volatile("lock xaddl %0, %1" : "+r"(v), "+m"(*at) : : "memory", "cc");
    return v;
}
static int cas(int *at, int old, int new)
{
    __asm__ volatile("lock cmpxchgl %2, %1" : "+a"(old), "+m"(*at) : "r"(new) : "memory", "cc");
    return old;
}
static void *run(void *p)
{
    add(&n, 1);
    __asm__ volatile("lock incl %0" : "+m"(n) : : "memory", "cc");
    while (cas(&l, 0, 1) != 0)
        ;
    c++;
    swap(&l, 0);
    return p;
}
int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(n == 4 && c == 2);
    return 0;
}
