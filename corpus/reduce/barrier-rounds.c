// expect: safe
// classes: 1
// Everybody writes, everybody meets, everybody reads: the order of arrivals makes no difference.
#include <assert.h>
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 2 };

static pthread_barrier_t barrier;
static int cells[THREADS];

static void *run(void *p)
{
    long me = (long)p;

    for (int round = 1; round <= ROUNDS; round++) {
        cells[me] = round;
        pthread_barrier_wait(&barrier);
        assert(cells[(me + 1) % THREADS] == round);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    return 0;
}
