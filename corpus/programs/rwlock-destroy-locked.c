// expect: error: destroys the lock `l`, which has been locked by T1 at
#include <pthread.h>
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static void *run(void *arg) {
    pthread_rwlock_rdlock(&l);
    pthread_rwlock_unlock(&l);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_rwlock_destroy(&l);
    pthread_join(t, 0);
    return 0;
}
