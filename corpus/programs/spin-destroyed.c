// expect: error: locks the spin lock `s`, which has been destroyed at
#include <pthread.h>
static pthread_spinlock_t s;
static void *run(void *arg) {
    pthread_spin_lock(&s);
    pthread_spin_unlock(&s);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_spin_init(&s, 0);
    pthread_create(&t, 0, run, 0);
    pthread_spin_destroy(&s);
    pthread_join(t, 0);
    return 0;
}
