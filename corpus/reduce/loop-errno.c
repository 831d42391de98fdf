// expect: error
// A round that fails leaves its mark in errno.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int x;
static sem_t s;

static void *waits(void *p)
{
    errno = 0;
    while (sem_trywait(&s) != 0)
        ;
    assert(errno == 0);
    return p;
}

static void *writes(void *p)
{
    sem_post(&s);
    return p;
}

int main(void)
{
    pthread_t a, b;

    sem_init(&s, 0, 0);
    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, writes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
