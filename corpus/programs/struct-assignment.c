// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
struct s { int a; char text[20]; long b; };
static struct s shared, copy;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *p)
{
    struct s mine = { 1, "some text", 1 };
    pthread_mutex_lock(&m);
    if (p)
        shared = mine;
    else
        copy = shared;
    pthread_mutex_unlock(&m);
    return p;
}
int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(copy.a == copy.b && shared.text[0] == 's' && copy.text[9] == 0);
    return 0;
}
