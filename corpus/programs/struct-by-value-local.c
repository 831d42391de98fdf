// expect: tso=unsafe
// The structure that is passed by value is in the frame of its caller, and another thread knows where.
#include <pthread.h>

struct five { long a, b, c, d, e; };

volatile int flag;
long seen;
int seen_flag;

__attribute__((noinline)) static long take(struct five value) { return value.a; }

static void *writer(void *argument) {
    *(volatile long *)&((struct five *)argument)->a = 1;
    seen_flag = flag;
    return 0;
}

int main(void) {
    struct five local = {0};
    pthread_t thread;
    pthread_create(&thread, 0, writer, &local);
    flag = 1;
    __asm__ volatile("" ::: "memory");
    seen = take(local);
    pthread_join(thread, 0);
    return 0;
}
