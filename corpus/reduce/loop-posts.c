// expect: error
// Each round gives a semaphore one more; a third is too many.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <semaphore.h>

static atomic_int x;
static sem_t sem;

static void *waits(void *p)
{
    int n = 0;

    while (!atomic_load(&x) && n < 3) {
        sem_post(&sem);
        sem_getvalue(&sem, &n);
    }
    assert(n < 3);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    pthread_t a, b;

    sem_init(&sem, 0, 0);
    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, writes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
