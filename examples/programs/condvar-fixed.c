/* A producer that wakes an idle consumer, and saves itself the lock when there is none.
 *
 * Published by S. Burckhardt and M. Musuvathi, "Effective program verification for relaxed memory
 * models", CAV 2008, figure 4(b): an error SOBER found in a concurrency library.
 *
 * Safe on tso and on pso.
 *
 * The fix: a full fence between store and load, on both sides. Whoever comes to the fence last
 * sees what the other one has stored.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 1 /* pieces of work */
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static volatile int idling;
static volatile int work; /* pieces so far */

static void block_on_idle(int done)
{
    pthread_mutex_lock(&mutex);
    idling = 1;
    atomic_thread_fence(memory_order_seq_cst);
    while (work == done)
        pthread_cond_wait(&wake, &mutex);
    idling = 0;
    pthread_mutex_unlock(&mutex);
}

static void notify_potential_work(int pieces)
{
    work = pieces;
    atomic_thread_fence(memory_order_seq_cst);
    if (idling) {
        pthread_mutex_lock(&mutex);
        pthread_cond_signal(&wake);
        pthread_mutex_unlock(&mutex);
    }
}

static void *consumer(void *arg)
{
    (void)arg;
    for (int done = 0; done < N; done++) {
        block_on_idle(done);
        assert(work > done);
    }
    return NULL;
}

static void *producer(void *arg)
{
    (void)arg;
    for (int i = 0; i < N; i++)
        notify_potential_work(i + 1);
    return NULL;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, consumer, NULL);
    pthread_create(&b, NULL, producer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
