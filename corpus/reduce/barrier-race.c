// expect: error
// options: --races on
// A thread writes after the meeting what another one reads after it, however late that departs.
#include <pthread.h>

static pthread_barrier_t barrier;
static int data;

static void *writes(void *p)
{
    pthread_barrier_wait(&barrier);
    data = 1;
    pthread_barrier_wait(&barrier);
    return p;
}

static void *reads(void *p)
{
    pthread_barrier_wait(&barrier);
    int seen = data;
    pthread_barrier_wait(&barrier);
    return seen ? p : NULL;
}

int main(void)
{
    pthread_t a, b;

    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&a, NULL, writes, NULL);
    pthread_create(&b, NULL, reads, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
