// expect: tso=unsafe pso=unsafe
// A function that is run after main, beside a thread that goes on.
#include <pthread.h>
static int x, y, a, b;
static void *run(void *p) {
    x = 1;
    a = y;
    return p;
}
__attribute__((destructor)) static void end(void) {
    y = 1;
    b = x;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_detach(t);
    return 0;
}
