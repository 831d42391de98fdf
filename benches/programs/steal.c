/* Work stealing: an owner puts two items and takes one, N thieves steal until they get one or there is none. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static atomic_int top, bottom, items[4], taken[3];

static void *owner(void *p)
{
    for (int i = 1; i <= 2; i++) {
        atomic_store(&items[i - 1], i);
        atomic_store(&bottom, i);
    }
    int b = atomic_load(&bottom) - 1;

    atomic_store(&bottom, b);
    int t = atomic_load(&top);

    if (t < b) {
        atomic_fetch_add(&taken[atomic_load(&items[b])], 1);
    } else if (t == b) {
        if (atomic_compare_exchange_strong(&top, &t, t + 1))
            atomic_fetch_add(&taken[atomic_load(&items[b])], 1);
        atomic_store(&bottom, b + 1);
    } else {
        atomic_store(&bottom, b + 1);
    }
    return p;
}

static void *thief(void *p)
{
    for (;;) {
        int t = atomic_load(&top);

        if (t >= atomic_load(&bottom))
            return p;
        int item = atomic_load(&items[t]);

        if (atomic_compare_exchange_strong(&top, &t, t + 1)) {
            atomic_fetch_add(&taken[item], 1);
            return NULL;
        }
    }
}

int main(void)
{
    pthread_t first, thieves[N];

    pthread_create(&first, NULL, owner, NULL);
    for (int i = 0; i < N; i++)
        pthread_create(&thieves[i], NULL, thief, NULL);
    pthread_join(first, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(thieves[i], NULL);
    assert(taken[1] <= 1 && taken[2] <= 1);
    return 0;
}
