// expect: tso=unsafe pso=unsafe
// The kernel reads the pieces for the thread.
#include <pthread.h>
#include <sys/uio.h>
static long x, text = 0x0a61, found;
static void *other(void *p)
{
    x = 1;
    struct iovec pieces[] = { { &text, 2 } };
    (void)!writev(1, pieces, 1);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    text = 0x0a62;
    found = x;
    pthread_join(t, 0);
}
