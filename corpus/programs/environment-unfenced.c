// expect: tso=unsafe pso=unsafe
// To change the environment takes a lock; to look something up does not.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
static int x, a, b;
static void *run(void *p) {
    x = 1;
    a = getenv("MEMBAR_TEST") != 0;
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    setenv("MEMBAR_TEST", "1", 1);
    b = x;
    pthread_join(t, 0);
    return 0;
}
