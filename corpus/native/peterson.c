/* Peterson's mutual exclusion, one round: peterson.litmus as a C program. */
#include <pthread.h>
#include <stddef.h>

static volatile int wants0, wants1, turn, c;

static void *p0(void *arg)
{
    (void)arg;
    wants0 = 1;
    turn = 1;
    while (wants1 && turn == 1)
        ;
    int r0 = c;
    c = r0 + 1;
    wants0 = 0;
    return NULL;
}

static void *p1(void *arg)
{
    (void)arg;
    wants1 = 1;
    turn = 0;
    while (wants0 && turn == 0)
        ;
    int r0 = c;
    c = r0 + 1;
    wants1 = 0;
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
