// expect: error: on the stack of T1, which has ended
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
static _Atomic(char *) p;
static void *lends(void *arg) {
    char name[24] = "somebody";
    p = name;
    return arg;
}
int main(void) {
    pthread_t t;
    char copy[24];
    pthread_create(&t, 0, lends, 0);
    if (p) memcpy(copy, p, sizeof copy);
    pthread_join(t, 0);
    return 0;
}
