// expect: error: assertion
// POSIX does not say that the identifier is stored before the new thread runs.
#include <assert.h>
#include <pthread.h>
static pthread_t t;
static void *run(void *arg) {
    assert(pthread_equal(t, pthread_self()));
    return arg;
}
int main(void) {
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    return 0;
}
