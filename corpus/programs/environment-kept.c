// expect: tso=safe pso=safe
// What an execution puts into the environment is not there in the next one.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int x;
static void *run(void *p) { x++; return p; }
int main(void)
{
    pthread_t t[2];
    assert(getenv("MEMBAR_KEPT") == NULL);
    setenv("MEMBAR_KEPT", "1", 1);
    assert(getenv("MEMBAR_KEPT") != NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
