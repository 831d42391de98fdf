// expect: safe
// A mutex orders what it protects.
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int data;
static void *run(void *arg) { (void)arg; pthread_mutex_lock(&m); data++; pthread_mutex_unlock(&m); return 0; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return data != 2;
}
