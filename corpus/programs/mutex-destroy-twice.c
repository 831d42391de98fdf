// expect: error: destroys the mutex `main::m`, which has been destroyed by main
#include <pthread.h>
int main(void) {
    pthread_mutex_t m;
    pthread_mutex_init(&m, 0);
    pthread_mutex_destroy(&m);
    return pthread_mutex_destroy(&m);
}
