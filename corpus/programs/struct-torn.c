// expect: error: assertion
// A structure assignment is not atomic.
#include <assert.h>
#include <pthread.h>
struct s { long a, b; };
static struct s shared;
static void *run(void *p)
{
    struct s mine = { 1, 1 };
    if (p) {
        shared = mine;
    } else {
        mine = shared;
        assert(mine.a == mine.b);
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
