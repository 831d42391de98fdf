// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
static int cleaned;
static void cleanup(void *p) { cleaned += (int)(long)p; }
static void deep(int n)
{
    if (n == 0)
        pthread_exit((void *)77);
    deep(n - 1);
}
static void *run(void *p)
{
    pthread_cleanup_push(cleanup, (void *)3);
    deep(10);
    pthread_cleanup_pop(0);
    return p;
}
int main(void)
{
    pthread_t t;
    void *r;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, &r);
    assert(r == (void *)77);
    assert(cleaned == 3);
    return 0;
}
