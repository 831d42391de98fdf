// expect: error
// counts: same
// Each thread writes to a place that it finds by the address of a variable of its own.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static atomic_int arrived, buckets[8];

static void *run(void *p)
{
    int local;
    unsigned bucket = ((uintptr_t)&local >> 21) & 7;

    buckets[bucket] = 1 + atomic_fetch_add(&arrived, 1);
    return p;
}

int main(void)
{
    pthread_t a, b;
    int last = 0;

    pthread_create(&a, NULL, run, NULL);
    pthread_create(&b, NULL, run, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    for (int i = 0; i < 8; i++) {
        if (buckets[i]) {
            assert(buckets[i] > last);
            last = buckets[i];
        }
    }
    return 0;
}
