// expect: unsafe
// counts: fewer
// Store buffering between threads that draw their parts.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
volatile int a, b;
atomic_int w;
int r[2];
void *f(void *_)
{
    int i = atomic_fetch_add(&w, 1);
    if (i == 0) {
        a = 1;
        r[0] = b;
    } else {
        b = 1;
        r[1] = a;
    }
    return 0;
}
int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, f, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(r[0] || r[1]);
    return 0;
}
