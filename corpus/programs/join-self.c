// expect: error: joins itself
#include <pthread.h>
static void *run(void *p) { pthread_join(pthread_self(), 0); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    return 0;
}
