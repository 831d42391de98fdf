// expect: tso=unsafe pso=unsafe
// What printf reads of a string is seen.
#include <pthread.h>
#include <stdio.h>
static volatile char x[2], y[2];
static void *other(void *p) { x[0] = 'x'; printf("%s", (char *)y); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    y[0] = 'y';
    printf("%.1s", (char *)x);
    pthread_join(t, 0);
}
