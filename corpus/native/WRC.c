/* Write to read causality: WRC.litmus as a C program. */
#include <pthread.h>
#include <stddef.h>

static volatile int x, y;

static void *p0(void *arg)
{
    (void)arg;
    x = 1;
    return NULL;
}

static void *p1(void *arg)
{
    (void)arg;
    int r0 = x;
    y = 1;
    (void)r0;
    return NULL;
}

static void *p2(void *arg)
{
    (void)arg;
    int r0 = y;
    int r1 = x;
    (void)r0;
    (void)r1;
    return NULL;
}

int main(void)
{
    pthread_t t[3];

    pthread_create(&t[0], NULL, p0, NULL);
    pthread_create(&t[1], NULL, p1, NULL);
    pthread_create(&t[2], NULL, p2, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    pthread_join(t[2], NULL);
    return 0;
}
