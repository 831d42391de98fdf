// expect: tso=safe pso=safe
// A function with such a name is a section as a whole.
#include <pthread.h>
#include <assert.h>
int x;
void __VERIFIER_atomic_inc(void){ int v=x; x=v+1; }
void *t(void*a){ __VERIFIER_atomic_inc(); return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); __VERIFIER_atomic_inc(); pthread_join(p,0); assert(x==2); }
