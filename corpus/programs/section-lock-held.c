// expect: undecided: waits in a `__VERIFIER_atomic_begin`
// Main may hold the lock while it waits for the section, which waits for the lock.
#include <pthread.h>
#include <assert.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
pthread_mutex_t m=PTHREAD_MUTEX_INITIALIZER; int x;
void *t(void*a){ __VERIFIER_atomic_begin(); x=1; pthread_mutex_lock(&m); assert(x==1); pthread_mutex_unlock(&m); __VERIFIER_atomic_end(); return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); pthread_mutex_lock(&m); x=3; pthread_mutex_unlock(&m); pthread_join(p,0); }
