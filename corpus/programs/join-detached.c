// expect: error: joins T1, which has been detached by T1
#include <pthread.h>
static void *run(void *arg) {
    pthread_detach(pthread_self());
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    return 0;
}
