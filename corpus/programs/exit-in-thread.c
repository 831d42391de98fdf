// expect: tso=safe pso=safe
// main waits for a thread that ends the process.
#include <pthread.h>
#include <stdlib.h>
static void *run(void *p) { exit(0); }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    abort();
}
