// expect: tso=safe pso=safe
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
__attribute__((no_sanitize_thread, noinline)) static void quietly(int *p) { *p = 1; }
static void *other(void *p)
{
    int mine;
    quietly(&mine);
    x += mine;
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    other(0);
    pthread_join(t, 0);
    return x != 2;
}
