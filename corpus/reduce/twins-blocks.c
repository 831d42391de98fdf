// expect: safe
// counts: fewer
// Arguments are blocks of the heap with the same contents.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int x;
void *f(void *a)
{
    int id = *(int *)a;
    free(a);
    atomic_fetch_add(&x, 1 + id);
    return 0;
}
int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++) {
        int *p = malloc(4);
        *p = 7;
        pthread_create(&t[i], 0, f, p);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
