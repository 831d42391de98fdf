// expect: error: its stack overflows
// A thread that uses more stack than it asked for.
#include <pthread.h>
static void *run(void *p) {
    volatile char room[200000];
    for (int i = 0; i < (int)sizeof room; i += 512)
        room[i] = 1;
    return p;
}
int main(void) {
    pthread_attr_t attributes;
    pthread_t t;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    pthread_create(&t, &attributes, run, 0);
    pthread_join(t, 0);
    return 0;
}
