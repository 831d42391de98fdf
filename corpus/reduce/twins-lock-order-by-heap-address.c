// expect: error
// counts: same
// Locks are taken in the order of their addresses, but not everywhere.
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

struct N {
    pthread_mutex_t m;
    int v;
};
_Atomic(struct N *) sl[2];
void *w(void *a)
{
    struct N *n = malloc(sizeof *n);
    pthread_mutex_init(&n->m, 0);
    int o = x++;
    sl[o] = n;
    struct N *q = 0;
    while (!(q = sl[1 - o]))
        ;
    struct N *lo = o == 0 ? (n > q ? n : q) : n, *hi = lo == n ? q : n;
    pthread_mutex_lock(&lo->m);
    pthread_mutex_lock(&hi->m);
    pthread_mutex_unlock(&hi->m);
    pthread_mutex_unlock(&lo->m);
    return 0;
}
int main()
{
    pthread_t a, b;
    CR(a, w, 0);
    CR(b, w, 0);
    J(a);
    J(b);
}
