// expect: error: joins T1, which has been joined by
#include <pthread.h>
static pthread_t first;
static void *run(void *arg) { return arg; }
static void *waits(void *arg) {
    pthread_join(first, 0);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&first, 0, run, 0);
    pthread_create(&t, 0, waits, 0);
    pthread_join(first, 0);
    pthread_join(t, 0);
    return 0;
}
