// expect: error: joins T1, which has been joined by main
#include <pthread.h>
static void *run(void *arg) { return arg; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    pthread_join(t, 0);
    return 0;
}
