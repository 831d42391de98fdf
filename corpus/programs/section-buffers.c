// expect: tso=unsafe pso=unsafe
// Store buffering outside of sections is seen, although a section uses the same variables.
#include <pthread.h>
#include <stdatomic.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
atomic_int x,y; int r1,r2;
#define ST(v) atomic_store_explicit(&v,1,memory_order_relaxed)
#define LD(v) atomic_load_explicit(&v,memory_order_relaxed)
void *t(void*a){ ST(x); r1=LD(y); __VERIFIER_atomic_begin(); int q=x; x=q+y; __VERIFIER_atomic_end(); return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); ST(y); r2=LD(x); pthread_join(p,0); return 0; }
