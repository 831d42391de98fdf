// expect: tso=safe pso=safe
// Nothing comes in the middle of a section.
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
atomic_int x;
void *t(void*a){ __VERIFIER_atomic_begin(); int v=x; x=v+1; __VERIFIER_atomic_end(); return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); atomic_fetch_add(&x,1); pthread_join(p,0); assert(x==2); }
