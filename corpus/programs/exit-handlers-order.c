// expect: error: n != 5
// The last handler first, then functions marked as destructors; on_exit is told the status. So in every execution.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static int n;
static atomic_int shared;
static void first(void) { assert(n++ == 2); }
static void second(int status, void *p) { assert(n++ == 1 && status == 0 && p == &n); }
static void third(void) { assert(n++ == 0); }
__attribute__((destructor(201))) static void last(void) { assert(n++ == 4); assert(n != 5); }
__attribute__((destructor(202))) static void earlier(void) { assert(n++ == 3); }
__attribute__((constructor)) static void begin(void) { atexit(first); }
static void *run(void *p) {
    shared++;
    return p;
}
int main(void) {
    pthread_t t;
    on_exit(second, &n);
    atexit(third);
    pthread_create(&t, 0, run, 0);
    shared++;
    pthread_join(t, 0);
    exit(0);
}
