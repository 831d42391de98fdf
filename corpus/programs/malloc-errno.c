// expect: tso=safe pso=safe
// What cannot be had is said as the C library says it.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(void) {
    volatile size_t n = (size_t)1 << 62;
    void *p = 0;
    assert(!malloc(n) && errno == ENOMEM);
    errno = 0;
    assert(!calloc(n, 8) && errno == ENOMEM);
    errno = 0;
    char *q = malloc(8);
    assert(!realloc(q, n) && errno == ENOMEM);
    free(q);
    errno = 0;
    assert(!aligned_alloc(64, n) && errno == ENOMEM);
    assert(posix_memalign(&p, 64, n) == ENOMEM && !p);
    errno = 0;
    assert(mmap(0, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOMEM);
    return 0;
}
