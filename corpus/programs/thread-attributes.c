// expect: tso=safe pso=safe
// A thread is told where its stack is.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
static void *run(void *p) {
    pthread_attr_t attributes;
    void *from;
    size_t size;
    char here;
    assert(pthread_getattr_np(pthread_self(), &attributes) == 0);
    pthread_attr_getstack(&attributes, &from, &size);
    assert((char *)from <= &here && &here < (char *)from + size);
    assert(!p || size == 1 << 20);
    return p;
}
int main(void) {
    pthread_t t;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_create(&t, &attributes, run, &t);
    pthread_join(t, 0);
    run(0);
    return 0;
}
