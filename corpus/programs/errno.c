// expect: tso=safe pso=safe
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
static atomic_int x;
static void *run(void *p)
{
    assert(errno == 0);
    errno = p ? 5 : 7;
    x++;
    assert(errno == (p ? 5 : 7));
    close(-1);
    x++;
    assert(errno == EBADF);
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
