// expect: tso=safe pso=safe
#include <assert.h>
#include <errno.h>
#include <pthread.h>
static pthread_spinlock_t l;
static int x;
static void *run(void *p)
{
    pthread_spin_lock(&l);
    x++;
    pthread_spin_unlock(&l);
    if (pthread_spin_trylock(&l) == 0) {
        x++;
        pthread_spin_unlock(&l);
    }
    return p;
}
int main(void)
{
    pthread_t t[2];
    pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(x >= 2 && x <= 4);
    pthread_spin_destroy(&l);
    return 0;
}
