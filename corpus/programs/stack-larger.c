// expect: undecided: needs more stack than
// The program gives the thread enough; membar does not.
#include <pthread.h>
#include <string.h>
static int deep(int n) {
    volatile char room[1 << 16];
    memset((char *)room, n, sizeof room);
    return n == 0 ? room[5] : deep(n - 1) + room[7];
}
static void *run(void *arg) {
    return deep(300) == 12345 ? arg : 0;
}
int main(void) {
    pthread_t t;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 64 << 20);
    pthread_create(&t, &attr, run, 0);
    pthread_join(t, 0);
    return 0;
}
