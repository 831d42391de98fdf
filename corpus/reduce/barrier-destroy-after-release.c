// expect: safe
// options: --races on
// The last thread destroys the barrier.
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
#include <unistd.h>
pthread_barrier_t b, b2;
atomic_int x, y, z, bad;
int d, e;
#define S PTHREAD_BARRIER_SERIAL_THREAD
#define BW(q) pthread_barrier_wait(&q)
#define CR(t, f, a) pthread_create(&t, 0, f, (void *)(intptr_t)(a))
#define J(t) pthread_join(t, 0)

void *w(void *a)
{
    if (BW(b) == S)
        pthread_barrier_destroy(&b);
    return 0;
}
int main()
{
    pthread_t p, q, r;
    pthread_barrier_init(&b, 0, 2);
    CR(p, w, 0);
    CR(q, w, 0);
    J(p);
    J(q);
}
