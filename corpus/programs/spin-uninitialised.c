// expect: error: locks the spin lock `s`, which has not been initialised
// A zeroed one cannot be had on this machine.
#include <pthread.h>
static pthread_spinlock_t s;
int main(void) {
    pthread_spin_lock(&s);
    pthread_spin_unlock(&s);
    return 0;
}
