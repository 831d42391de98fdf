// expect: error: assertion
// Three steps of one thread within one of the other.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *run(void *p)
{
    if (p) {
        for (int i = 0; i < 3; i++)
            x++;
    } else {
        int before = x;
        int after = x;
        assert(!(before == 0 && after == 3));
    }
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
