// expect: error: assertion
#include <pthread.h>
#include <stdlib.h>
#include <assert.h>
static char *end;
static void *other(void *p) { assert(strtol("12 x", &end, 10) == 12); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    assert(end == 0);
    pthread_join(t, 0);
}
