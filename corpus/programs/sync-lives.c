// expect: tso=safe pso=safe
// flags: -D_GNU_SOURCE
// Every object has a life, and some memory has several: what was destroyed is initialised again, what was never destroyed is
// freed, frames are left and entered, and structures are zeroed and copied before anybody uses them.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
struct all { pthread_mutex_t m; pthread_cond_t c; pthread_rwlock_t l; pthread_spinlock_t s; pthread_barrier_t b; sem_t e; };
static pthread_mutex_t kinds[] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                  PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};
static pthread_rwlock_t writers_first = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static struct all *shared;
static int done;
static void begin(struct all *a) {
    pthread_mutex_init(&a->m, 0);
    pthread_cond_init(&a->c, 0);
    pthread_rwlock_init(&a->l, 0);
    pthread_spin_init(&a->s, 0);
    pthread_barrier_init(&a->b, 0, 1);
    sem_init(&a->e, 0, 1);
}
static void use(struct all *a) {
    pthread_mutex_lock(&a->m);
    pthread_cond_signal(&a->c);
    pthread_rwlock_wrlock(&a->l);
    pthread_rwlock_unlock(&a->l);
    pthread_rwlock_rdlock(&a->l);
    pthread_rwlock_unlock(&a->l);
    pthread_spin_lock(&a->s);
    pthread_spin_unlock(&a->s);
    pthread_barrier_wait(&a->b);
    sem_wait(&a->e);
    sem_post(&a->e);
    pthread_mutex_unlock(&a->m);
}
static void end(struct all *a) {
    assert(pthread_mutex_destroy(&a->m) == 0);
    assert(pthread_cond_destroy(&a->c) == 0);
    assert(pthread_rwlock_destroy(&a->l) == 0);
    assert(pthread_spin_destroy(&a->s) == 0);
    assert(pthread_barrier_destroy(&a->b) == 0);
    assert(sem_destroy(&a->e) == 0);
}
static void on_stack(int destroys) {
    struct all a;
    begin(&a);
    use(&a);
    if (destroys) end(&a);
}
static void *run(void *arg) {
    pthread_mutex_lock(&shared->m);
    while (!done) pthread_cond_wait(&shared->c, &shared->m);
    pthread_mutex_unlock(&shared->m);
    return arg;
}
int main(void) {
    for (int i = 0; i < 4; i++) {
        pthread_mutex_lock(&kinds[i]);
        pthread_mutex_unlock(&kinds[i]);
        pthread_mutex_destroy(&kinds[i]);
    }
    pthread_rwlock_wrlock(&writers_first);
    pthread_rwlock_unlock(&writers_first);
    on_stack(1);
    on_stack(0);
    on_stack(1);
    struct all *a = malloc(sizeof *a);
    begin(a);
    use(a);
    free(a);
    a = malloc(sizeof *a);
    begin(a);
    end(a);
    begin(a);
    use(a);
    end(a);
    memset(&a->m, 0, sizeof a->m);
    pthread_mutex_lock(&a->m);
    pthread_mutex_unlock(&a->m);
    begin(a);
    shared = a;
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    use(a);
    pthread_mutex_lock(&a->m);
    done = 1;
    pthread_cond_broadcast(&a->c);
    pthread_mutex_unlock(&a->m);
    pthread_join(t, 0);
    end(a);
    free(a);
    return 0;
}
