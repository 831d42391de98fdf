/* A library with a thread of its own, which counts and calls back. */
#include <pthread.h>
static pthread_t id;
static void (*work)(void);
static int *count;
static void *run(void *p)
{
    if (count)
        ++*count;
    if (work)
        work();
    return p;
}
int begin(void (*f)(void), int *at)
{
    work = f;
    count = at;
    return pthread_create(&id, 0, run, 0);
}
int finish(void) { return pthread_join(id, 0); }
