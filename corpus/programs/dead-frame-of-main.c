// expect: error: in a function that has returned
// The thread may use the variable after the function that has it.
#include <pthread.h>

static pthread_t thread;

static void *run(void *arg)
{
    *(int *)arg = 7;
    return 0;
}

__attribute__((noinline)) static void start(void)
{
    int result[4];

    pthread_create(&thread, 0, run, result + 1);
}

int main(void)
{
    start();
    pthread_join(thread, 0);
}
