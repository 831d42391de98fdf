// expect: tso=unsafe
// flags: -O2
// A vector of 32 bytes: clang announces no access to it, and reads the element by `pshufd`, straight from memory.
#include <pthread.h>

typedef int eight __attribute__((vector_size(32)));

volatile eight vector;
volatile int flag;
int seen, seen_flag;

static void *reader(void *argument) {
    flag = 1;
    __asm__ volatile("" ::: "memory");
    eight value = vector;
    seen = value[3];
    return argument;
}

static void *writer(void *argument) {
    ((volatile int *)&vector)[3] = 1;
    __asm__ volatile("" ::: "memory");
    seen_flag = flag;
    return argument;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, writer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
