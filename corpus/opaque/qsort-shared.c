// expect: error: assertion
#include <pthread.h>
#include <stdlib.h>
#include <assert.h>
static int a[3] = { 3, 1, 2 };
static int order(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }
static void *other(void *p) { qsort(a, 3, sizeof *a, order); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    assert(a[0] == 3);
    pthread_join(t, 0);
}
