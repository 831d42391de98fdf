// expect: error
// counts: same
// Arguments point to different values.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int x;
int ids[2] = {0, 1};
void *f(void *a)
{
    if (atomic_fetch_add(&x, 1) == 0)
        assert(*(int *)a == 0);
    return 0;
}
int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, f, &ids[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
