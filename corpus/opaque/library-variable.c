// expect: error: assertion
// library: memory.c
// A lost update of a variable of the library; and every execution begins with what the library held at first.
#include <pthread.h>
#include <assert.h>
extern int common[64];
static void *other(void *p) { common[3]++; return p; }
int main(void)
{
    pthread_t t;
    assert(common[3] == 0);
    pthread_create(&t, 0, other, 0);
    common[3]++;
    pthread_join(t, 0);
    assert(common[3] == 2);
}
