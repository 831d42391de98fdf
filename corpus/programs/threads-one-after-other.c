// expect: tso=safe pso=safe
// Plain accesses only: no two threads run at the same time.
#include <assert.h>
#include <pthread.h>
static int x, y;
static void *a(void *p) { x++; y = x; return p; }
int main(void)
{
    for (int i = 0; i < 5; i++) {
        pthread_t t;
        pthread_create(&t, 0, a, 0);
        pthread_join(t, 0);
        x++;
    }
    assert(x == 10 && y == 9);
    return 0;
}
