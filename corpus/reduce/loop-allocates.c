// expect: error
// Each round allocates, and the last block is used.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

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
