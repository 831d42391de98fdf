// expect: tso=undecided pso=undecided
// says: touches `
// library: ending.c
#include <pthread.h>
extern int begun, ended;
int begin(void);
static int seen;
static void *other(void *p) { begun = 2; seen = ended; return p; }
int main(void)
{
    pthread_t t;
    begin();
    pthread_create(&t, 0, other, 0);
    pthread_detach(t);
}
