// expect: tso=unsafe
// A structure too large for single moves is passed with `rep movs` or `memcpy`. Store buffering through its first field.
#include <pthread.h>

struct large { long first, rest[40]; };

struct large shared;
volatile int flag;
long seen;
int seen_flag;

__attribute__((noinline)) static long take(struct large value) { return value.first; }

static void *reader(void *argument) {
    struct large *from = argument;
    flag = 1;
    __asm__ volatile("" ::: "memory");
    seen = take(*from);
    return 0;
}

static void *writer(void *argument) {
    *(volatile long *)&((struct large *)argument)->first = 1;
    seen_flag = flag;
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, reader, &shared);
    pthread_create(&b, 0, writer, &shared);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
