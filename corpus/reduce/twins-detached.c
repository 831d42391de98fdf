// expect: safe
// counts: fewer
// Nobody waits for these threads.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int x;
void *f(void *a)
{
    atomic_fetch_add(&x, 1);
    return 0;
}
int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&t[i], 0, f, 0);
        pthread_detach(t[i]);
    }
    while (atomic_load(&x) < 2)
        ;
    return 0;
}
