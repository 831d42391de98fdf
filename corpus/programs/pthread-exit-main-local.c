// expect: error: which has ended
// A thread that runs on uses a variable of main, which is no more.
#include <pthread.h>
static void *run(void *arg) {
    *(int *)arg = 1;
    return 0;
}
int main(void) {
    int x = 0;
    pthread_t t;
    pthread_create(&t, 0, run, &x);
    pthread_exit(0);
}
