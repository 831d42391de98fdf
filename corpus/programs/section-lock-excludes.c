// expect: tso=safe pso=safe
// A lock inside of a section lets nobody in.
#include <pthread.h>
#include <assert.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
pthread_mutex_t m=PTHREAD_MUTEX_INITIALIZER; int x;
void *t(void*a){ __VERIFIER_atomic_begin(); x=1; pthread_mutex_lock(&m); assert(x==1); x=2; pthread_mutex_unlock(&m); __VERIFIER_atomic_end(); return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); __VERIFIER_atomic_begin(); x=3; __VERIFIER_atomic_end(); pthread_join(p,0); }
