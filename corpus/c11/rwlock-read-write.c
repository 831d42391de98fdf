// expect: error
// A lock for reading does not protect a write.
#include <pthread.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int data;
static void *run(void *arg) { (void)arg; pthread_rwlock_rdlock(&lock); data++; pthread_rwlock_unlock(&lock); return 0; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
