// expect: error: assertion
// Without `lock` an update is a load and a store: one of two can be lost.
#include <assert.h>
#include <pthread.h>
static int count;
static void *run(void *p)
{
    int by = 1;
    __asm__ volatile("xaddl %1, %0" : "+m"(count), "+r"(by) : : "memory");
    return p;
}
int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, run, 0);
    pthread_create(&u, 0, run, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    assert(count == 2);
    return 0;
}
