// expect: tso=safe pso=safe
// As many as machines have, each with variables of its own; some do something.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
enum { N = 200 };
static _Thread_local int own;
static atomic_int one;
static void *run(void *arg) {
    int *p = malloc(sizeof *p);
    *p = ++own;
    if ((long)arg == 150) one = *p;
    free(p);
    return arg;
}
int main(void) {
    pthread_t t[N];
    for (long i = 0; i < N; i++) pthread_create(&t[i], 0, run, (void *)i);
    for (long i = 0; i < N; i++) {
        void *result;
        pthread_join(t[i], &result);
        assert((long)result == i);
    }
    assert(one == 1);
    return 0;
}
