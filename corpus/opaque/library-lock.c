// expect: tso=safe pso=safe
// library: threads.c
#include <pthread.h>
#include <assert.h>
void enter(void), leave(void);
static int n;
static void *other(void *p) { enter(); n++; leave(); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    other(0);
    pthread_join(t, 0);
    assert(n == 2);
}
