// expect: error
// Each round allocates, and the last block is used.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int x;

static void *waits(void *p)
{
    char *text = NULL;

    while (!atomic_load(&x) && (text == NULL || strlen(text) < 2)) {
        size_t n = text == NULL ? 0 : strlen(text);
        char *more = calloc(n + 2, 1);

        memset(more, 'x', n + 1);
        free(text);
        text = more;
    }
    assert(text == NULL || strlen(text) != 1);
    free(text);
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
