// expect: error
// counts: same
// Addresses of variables are compared as numbers.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <semaphore.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

_Atomic(uintptr_t) p;
atomic_int bad;
void *w(void *a)
{
    int loc = 0;
    uintptr_t me = (uintptr_t)&loc;
    uintptr_t o = atomic_exchange(&p, me);
    if (o && o > me)
        bad = 1;
    return 0;
}
int main()
{
    pthread_t a, b;
    pthread_create(&a, 0, w, 0);
    pthread_create(&b, 0, w, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(!bad);
}
