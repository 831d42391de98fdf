// expect: unsafe
// options: --model pso --property robust
// The second look reads the old value although something newer was seen in between.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static volatile int x, z;

static void *a(void *p)
{
    int first, flag, second;

    do {
        first = x;
        flag = z;
        second = x;
    } while (first != second);
    if (flag == 1 && second == 0)
        z = 2;
    return p;
}

static void *b(void *p)
{
    x = 1;
    z = 1;
    return p;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, a, NULL);
    pthread_create(&t[1], NULL, b, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
