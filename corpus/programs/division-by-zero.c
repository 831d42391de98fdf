// expect: error: SIGFPE
#include <pthread.h>
#include <stdatomic.h>
static atomic_int d = 1;
static volatile int ten = 10, result;
static void *run(void *p) { result = ten / atomic_load(&d); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store(&d, 0);
    pthread_join(t, 0);
    return 0;
}
