// expect: tso=safe pso=safe
// Handlers run when the last thread has ended, whoever created it.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static int a, b;
static void check(void) { assert(a == 1 && b == 1); }
static void *inner(void *arg) {
    b = 1;
    return arg;
}
static void *outer(void *arg) {
    pthread_t t;
    pthread_create(&t, 0, inner, 0);
    pthread_detach(t);
    a = 1;
    return arg;
}
int main(void) {
    pthread_t t;
    atexit(check);
    pthread_create(&t, 0, outer, 0);
    pthread_exit(0);
}
