// expect: error
// counts: same
// One of them waits for the other, whose handle it has found.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <semaphore.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sched.h>
#define CR(t, f, a) pthread_create(&t, 0, f, (void *)(intptr_t)(a))
#define J(t) pthread_join(t, 0)
atomic_int x, y, z, f, bad;
int d, e;
_Thread_local int tl;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
sem_t s;
pthread_cond_t cv = PTHREAD_COND_INITIALIZER;

_Atomic(pthread_t) h;
void *w(void *a)
{
    int o = x++;
    if (o == 0) {
        pthread_t t;
        while (!(t = h))
            ;
        pthread_join(t, 0);
    }
    return 0;
}
int main()
{
    pthread_t a, b;
    CR(a, w, 0);
    CR(b, w, 0);
    h = b;
    J(a);
}
