// expect: tso=safe pso=safe
// The function that has the variables waits for the threads.
#include <assert.h>
#include <pthread.h>

static void *run(void *arg)
{
    *(int *)arg += 1;
    return 0;
}

static int sum(void)
{
    pthread_t threads[2];
    int results[2] = {1, 2};

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, run, &results[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    return results[0] + results[1];
}

int main(void)
{
    assert(sum() == 5);
    assert(sum() == 5);
}
