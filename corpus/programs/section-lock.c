// expect: tso=safe pso=safe
// A lock as testers write it.
#include <pthread.h>
#include <assert.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void); void __VERIFIER_assume(int);
int l, c;
void lock(){ __VERIFIER_atomic_begin(); __VERIFIER_assume(l==0); l=1; __VERIFIER_atomic_end(); }
void unlock(){ __VERIFIER_atomic_begin(); l=0; __VERIFIER_atomic_end(); }
void *t(void*a){ lock(); c++; unlock(); return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); lock(); c++; unlock(); pthread_join(p,0); assert(c==2); }
