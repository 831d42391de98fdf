// expect: tso=safe pso=safe
// The program has functions by the names of some that membar stands in for.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
int bcmp(const void *a, const void *b, unsigned long n) { (void)a; (void)b; return (int)n; }
int random(void) { return 4; }
static void *run(void *p) { x += random(); return p; }
int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return x != 8 || bcmp("a", "b", 1) != 1;
}
