// expect: error: deadlock
// Threads beyond the 64th are like all others: two of them take locks in two orders.
#include <pthread.h>
enum { N = 130 };
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void take(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}
static void *run(void *arg) {
    if ((long)arg == 68) take(&a, &b);
    if ((long)arg == 129) take(&b, &a);
    return 0;
}
int main(void) {
    pthread_t t[N];
    for (long i = 0; i < N; i++) pthread_create(&t[i], 0, run, (void *)i);
    for (long i = 0; i < N; i++) pthread_join(t[i], 0);
    return 0;
}
