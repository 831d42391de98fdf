// expect: error: which has not been initialised
// The pointer is there before the mutex is.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct box { pthread_mutex_t m; int n; };
static _Atomic(struct box *) shared;
static void *run(void *arg) {
    struct box *box = shared;
    if (box) {
        pthread_mutex_lock(&box->m);
        pthread_mutex_unlock(&box->m);
    }
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    struct box *box = malloc(sizeof *box);
    shared = box;
    pthread_mutex_init(&box->m, 0);
    pthread_join(t, 0);
    return 0;
}
