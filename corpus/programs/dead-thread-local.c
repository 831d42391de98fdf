// expect: error: a thread-local variable of T1, which has ended
#include <pthread.h>
#include <stdatomic.h>
static _Thread_local atomic_int mine;
static _Atomic(atomic_int *) p;
static void *lends(void *arg) {
    p = &mine;
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, lends, 0);
    if (p) atomic_fetch_add(p, 1);
    pthread_join(t, 0);
    return 0;
}
