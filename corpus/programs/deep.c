// expect: error: assertion `!(one && other)`
// driver: --stop-at-first
// Both flags are up together only between two steps of one course and two steps of another, far apart. A search in depth has
// too much to do elsewhere; random priorities come there soon.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int first, last, count;
static void add(void)
{
    for (int i = 0; i < 8; i++)
        atomic_fetch_add(&count, 1);
}
static void *early(void *p)
{
    atomic_store_explicit(&first, 1, memory_order_release);
    atomic_store_explicit(&first, 0, memory_order_release);
    add();
    return p;
}
static void *late(void *p)
{
    add();
    atomic_store_explicit(&last, 1, memory_order_release);
    atomic_store_explicit(&last, 0, memory_order_release);
    return p;
}
static void *other_work(void *p)
{
    add();
    return p;
}
static void *watch(void *p)
{
    int one = atomic_load(&first), other = atomic_load(&last);
    assert(!(one && other));
    return p;
}

int main(void)
{
    void *(*all[])(void *) = {early, late, other_work, other_work, watch};
    pthread_t t[5];
    for (int i = 0; i < 5; i++)
        pthread_create(&t[i], 0, all[i], 0);
    for (int i = 0; i < 5; i++)
        pthread_join(t[i], 0);
}
