// expect: error: assertion
// memcpy of shared data: the reader may see one half.
#include <assert.h>
#include <pthread.h>
#include <string.h>
static long a[2], b[2];
static const long one[2] = { 1, 1 };
static void *run(void *p)
{
    if (p) {
        memcpy(b, a, sizeof b);
        assert(b[0] == b[1]);
    } else {
        memcpy(a, one, sizeof a);
    }
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
