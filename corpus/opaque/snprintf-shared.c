// expect: error: assertion
#include <pthread.h>
#include <stdio.h>
#include <assert.h>
static char text[16];
static void *other(void *p) { snprintf(text, sizeof text, "%d", 7); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    assert(text[0] == 0);
    pthread_join(t, 0);
}
