// expect: tso=undecided pso=undecided
// says: snprintf-reads-shared.c:12: `snprintf` is not instrumented, and touches `name[0]`
#include <pthread.h>
#include <stdio.h>
static char name[8] = "a";
static void *other(void *p) { name[0] = 'b'; return p; }
int main(void)
{
    char text[16];
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    snprintf(text, sizeof text, "%s", name);
    pthread_join(t, 0);
}
