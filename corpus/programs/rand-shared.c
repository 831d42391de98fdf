// expect: error: rand() == first
// All threads share the generator that srand seeds.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static void *run(void *p) {
    srand(7);
    return p;
}
int main(void) {
    pthread_t t;
    srand(3);
    int first = rand();
    srand(3);
    pthread_create(&t, 0, run, 0);
    assert(rand() == first);
    pthread_join(t, 0);
    return 0;
}
