// expect: tso=safe pso=safe
#include <pthread.h>
static __thread int own;
static void *run(void *p) { own++; return p; }
int main(void)
{
    pthread_t t[60];
    for (int i = 0; i < 60; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 60; i++)
        pthread_join(t[i], 0);
    return 0;
}
