// expect: tso=safe pso=safe
// What a section waits for may come before it.
#include <pthread.h>
#include <assert.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
int x;
void *t(void*a){ x++; return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); __VERIFIER_atomic_begin(); pthread_join(p,0); assert(x==1); __VERIFIER_atomic_end(); }
