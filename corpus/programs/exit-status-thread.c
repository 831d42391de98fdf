// expect: error: ends with status 4
#include <pthread.h>
#include <stdlib.h>
static void *run(void *p) { exit(4); }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    return 0;
}
