// expect: error: MEMBAR_TEST
// The environment belongs to all threads.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static void *run(void *p) {
    setenv("MEMBAR_TEST", "1", 1);
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    assert(!getenv("MEMBAR_TEST"));
    pthread_join(t, 0);
    return 0;
}
