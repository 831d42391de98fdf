// expect: undecided: waits in a `__VERIFIER_atomic_begin`
// The thread that the section waits for comes after its beginning.
#include <pthread.h>
#include <semaphore.h>
#include <assert.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
int x; sem_t s;
void *t(void*a){ __VERIFIER_atomic_begin(); x=2; __VERIFIER_atomic_end(); sem_post(&s); return 0; }
int main(){ pthread_t p; sem_init(&s,0,0); pthread_create(&p,0,t,0); __VERIFIER_atomic_begin(); x=1; sem_wait(&s); assert(x==1); __VERIFIER_atomic_end(); pthread_join(p,0); }
