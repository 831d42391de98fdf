// expect: error: writes `T1's lends::x`, on the stack of T1, which has ended
#include <pthread.h>
#include <stdatomic.h>
static _Atomic(int *) p;
static void *lends(void *arg) {
    int x = 0;
    p = &x;
    return arg;
}
static void *borrows(void *arg) {
    int *q = p;
    if (q) *q = 42;
    return arg;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, lends, 0);
    pthread_create(&b, 0, borrows, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
