// expect: error: on the stack of T1, which has ended
// What a thread returns must not be its own.
#include <pthread.h>
static void *run(void *arg) {
    int x = arg == 0;
    int *volatile p = &x;
    return p;
}
int main(void) {
    pthread_t t;
    void *result;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, &result);
    return *(int *)result - 1;
}
