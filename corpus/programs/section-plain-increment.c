// expect: error: assertion
// The increment outside of the section is two steps, and the section comes in between.
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
atomic_int x;
void *t(void*a){ __VERIFIER_atomic_begin(); int v=x; x=v+1; __VERIFIER_atomic_end(); return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); int v=x; x=v+1; pthread_join(p,0); assert(x==2); }
