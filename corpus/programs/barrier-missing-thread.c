// expect: error: deadlock
#include <pthread.h>
static pthread_barrier_t b;
static void *run(void *p) { pthread_barrier_wait(&b); return p; }
int main(void)
{
    pthread_t t;
    pthread_barrier_init(&b, 0, 2);
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    return 0;
}
