// expect: error
// counts: same
// Arguments are blocks of the heap with different contents.
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
    if (atomic_fetch_add(&x, 1) == 0)
        assert(id == 0);
    return 0;
}
int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        int *p = malloc(4);
        *p = i;
        pthread_create(&t[i], 0, f, p);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
