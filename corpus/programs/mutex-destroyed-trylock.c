// expect: error: which has been destroyed by T1
#include <pthread.h>
#include <stdlib.h>
struct box { int n; pthread_mutex_t m; };
static struct box *box;
static void *run(void *arg) {
    pthread_mutex_destroy(&box->m);
    return arg;
}
int main(void) {
    box = malloc(sizeof *box);
    pthread_mutex_init(&box->m, 0);
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    if (pthread_mutex_trylock(&box->m) == 0) pthread_mutex_unlock(&box->m);
    pthread_join(t, 0);
    return 0;
}
