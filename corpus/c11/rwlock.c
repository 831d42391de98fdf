// expect: safe
// Readers see what writers did, and writers come after readers.
#include <pthread.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int data;
static void *writes(void *arg) { (void)arg; pthread_rwlock_wrlock(&lock); data++; pthread_rwlock_unlock(&lock); return 0; }
static void *reads(void *arg) { (void)arg; pthread_rwlock_rdlock(&lock); int seen = data; pthread_rwlock_unlock(&lock); return seen > 1 ? arg : 0; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, writes, 0);
    pthread_create(&b, 0, reads, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
