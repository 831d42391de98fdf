// expect: error: destroys the mutex `m`, which main holds since
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
    pthread_mutex_lock(&m);
    pthread_mutex_destroy(&m);
    return 0;
}
