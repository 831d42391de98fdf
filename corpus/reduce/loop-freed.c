// expect: error
// A round frees what is used after the loop.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static atomic_int x;

static void *waits(void *p)
{
    char *block = malloc(1);
    int freed = 0;

    while (!atomic_load(&x))
        if (!freed) {
            free(block);
            freed = 1;
        }
    *(volatile char *)block = 1;
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

    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, writes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
