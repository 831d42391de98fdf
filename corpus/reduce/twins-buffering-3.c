// expect: unsafe
// counts: fewer
// Store buffering among three threads that draw their parts.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int a, b;
atomic_int w;
void *f(void *_)
{
    int i = atomic_fetch_add(&w, 1) & 1;
    if (i == 0) {
        atomic_store_explicit(&a, 1, memory_order_relaxed);
        atomic_load_explicit(&b, memory_order_relaxed);
    } else {
        atomic_store_explicit(&b, 1, memory_order_relaxed);
        atomic_load_explicit(&a, memory_order_relaxed);
    }
    return 0;
}
int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, f, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
