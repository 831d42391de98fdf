/* Lamport's bakery, one round: bakery.litmus as a C program. */
#include <pthread.h>
#include <stddef.h>

static volatile int choosing0, choosing1, number0, number1, c;

static void *p0(void *arg)
{
    (void)arg;
    choosing0 = 1;
    int r0 = number1;
    number0 = r0 + 1;
    choosing0 = 0;
    while (choosing1)
        ;
    int r1 = number1;
    while (r1 != 0 && r1 < r0 + 1)
        r1 = number1;
    int r2 = c;
    c = r2 + 1;
    number0 = 0;
    return NULL;
}

static void *p1(void *arg)
{
    (void)arg;
    choosing1 = 1;
    int r0 = number0;
    number1 = r0 + 1;
    choosing1 = 0;
    while (choosing0)
        ;
    int r1 = number0;
    while (r1 != 0 && r1 <= r0 + 1)
        r1 = number0;
    int r2 = c;
    c = r2 + 1;
    number1 = 0;
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
