// expect: tso=safe pso=safe
// A lock may have to be waited for in a section: what gives it back comes before the section.
#include <pthread.h>
void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);
pthread_mutex_t m=PTHREAD_MUTEX_INITIALIZER;
void *t(void*a){ __VERIFIER_atomic_begin(); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); __VERIFIER_atomic_end(); return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_join(p,0); }
