// expect: tso=safe pso=safe
#define _GNU_SOURCE
#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static void *run(void *p)
{
    int *a = calloc(10, sizeof *a);
    for (int i = 0; i < 10; i++)
        assert(a[i] == 0);
    a[9] = 9;
    a = realloc(a, 1000 * sizeof *a);
    assert(a[9] == 9 && a[0] == 0);
    a = realloc(a, 10 * sizeof *a);
    assert(a[9] == 9);
    free(a);
    void *b = aligned_alloc(256, 512);
    assert((uintptr_t)b % 256 == 0);
    memset(b, 1, 512);
    free(b);
    void *c;
    assert(posix_memalign(&c, 64, 100) == 0 && (uintptr_t)c % 64 == 0);
    free(c);
    char *s = strdup("hello");
    assert(strcmp(s, "hello") == 0 && malloc_usable_size(s) >= 6);
    char *n = strndup("hello", 2);
    assert(strcmp(n, "he") == 0);
    free(s);
    free(n);
    free(NULL);
    assert(realloc(NULL, 5) != NULL);
    void *none = malloc(0);
    free(none);
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
