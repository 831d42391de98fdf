/* A sequence lock: the writer counts before and after it writes, and a reader that saw an odd count
 * or two different ones reads again. Readers store nothing.
 *
 * Used in Linux since 2002 (S. Hemminger); the idea is in L. Lamport, "Concurrent reading and
 * writing", 1977. In terms of C11: H.-J. Boehm, "Can seqlocks get along with programming language
 * memory models?", MSPC 2012.
 *
 * Safe on tso, unsafe on pso and under c11.
 *
 * c11: every access is relaxed, so the stores of publish may be seen in any order, and the loads of
 * look may be made in any order. A reader may see the same even count twice and in between old
 * data, or one new value and one old. On x86 stores arrive in order and loads are made in order.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2 /* writes */
#endif

static atomic_int count;
static atomic_int x, y; /* always equal */

static void publish(int value)
{
    int c = atomic_load_explicit(&count, memory_order_relaxed);

    atomic_store_explicit(&count, c + 1, memory_order_relaxed);
    atomic_store_explicit(&x, value, memory_order_relaxed);
    atomic_store_explicit(&y, value, memory_order_relaxed);
    atomic_store_explicit(&count, c + 2, memory_order_relaxed);
}

static void look(int *a, int *b)
{
    int c;

    do {
        while ((c = atomic_load_explicit(&count, memory_order_relaxed)) % 2 != 0)
            ;
        *a = atomic_load_explicit(&x, memory_order_relaxed);
        *b = atomic_load_explicit(&y, memory_order_relaxed);
    } while (atomic_load_explicit(&count, memory_order_relaxed) != c);
}

static void *writer(void *arg)
{
    (void)arg;
    for (int i = 0; i < N; i++)
        publish(i + 1);
    return NULL;
}

static void *reader(void *arg)
{
    int a, b;

    (void)arg;
    look(&a, &b);
    assert(a == b);
    return NULL;
}

int main(void)
{
    pthread_t t, u;

    pthread_create(&t, NULL, writer, NULL);
    pthread_create(&u, NULL, reader, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
