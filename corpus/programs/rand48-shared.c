// expect: error: lrand48() == first
// So do those of the other family, which srand does not seed.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static void *run(void *p) {
    srand48(7);
    return p;
}
int main(void) {
    pthread_t t;
    srand48(3);
    long first = lrand48();
    srand48(3);
    srand(9);
    assert(lrand48() == first);
    srand48(3);
    pthread_create(&t, 0, run, 0);
    assert(lrand48() == first);
    pthread_join(t, 0);
    return 0;
}
