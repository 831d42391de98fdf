// expect: safe
// A barrier orders both ways.
#include <pthread.h>
static pthread_barrier_t barrier;
static int x, y;
static void *run(void *arg) { (void)arg; x = 1; pthread_barrier_wait(&barrier); return y == 1 ? 0 : arg; }
int main(void)
{
    pthread_t a;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&a, 0, run, 0);
    y = 1;
    pthread_barrier_wait(&barrier);
    int result = x != 1;
    pthread_join(a, 0);
    return result;
}
