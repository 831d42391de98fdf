// One thread waits until another one writes. What a round of `waits` does is the test.
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;
static void *waits(void *p);

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, writes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
