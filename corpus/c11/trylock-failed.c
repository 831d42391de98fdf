// expect: error
// A lock that could not be taken orders nothing: what came before it was taken races.
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int data, sum;
static void *run(void *arg) { (void)arg; data = 1; pthread_mutex_lock(&m); return 0; }
static void *look(void *arg) { (void)arg; if (pthread_mutex_trylock(&m) != 0) sum += data; else pthread_mutex_unlock(&m); return 0; }
static void *own(void *arg) { run(arg); pthread_mutex_unlock(&m); return 0; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, own, 0);
    pthread_create(&b, 0, look, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
