/* Two stores against two stores: 2+2W.litmus as a C program. */
#include <pthread.h>
#include <stddef.h>

static volatile int x, y;

static void *p0(void *arg)
{
    (void)arg;
    x = 1;
    y = 2;
    return NULL;
}

static void *p1(void *arg)
{
    (void)arg;
    y = 1;
    x = 2;
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, p0, NULL);
    pthread_create(&t[1], NULL, p1, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
