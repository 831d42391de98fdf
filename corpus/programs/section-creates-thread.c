// expect: tso=safe pso=safe
// A thread that is created in a section begins after it.
#include <pthread.h>
#include <assert.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
int x;
void *t(void*a){ assert(x==1); return 0; }
int main(){ pthread_t p; __VERIFIER_atomic_begin(); pthread_create(&p,0,t,0); x=1; __VERIFIER_atomic_end(); pthread_join(p,0); }
