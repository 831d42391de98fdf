// expect: error: begins an atomic section inside of one
#include <pthread.h>
#include <assert.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
int x;
void inc(){ __VERIFIER_atomic_begin(); x++; __VERIFIER_atomic_end(); }
void *t(void*a){ __VERIFIER_atomic_begin(); inc(); inc(); __VERIFIER_atomic_end(); return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); inc(); pthread_join(p,0); assert(x==3); }
