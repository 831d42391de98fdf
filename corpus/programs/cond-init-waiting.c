// expect: error: initialises the condition variable
// A thread may wait there already: its initial value is static.
#include <pthread.h>
pthread_cond_t c=PTHREAD_COND_INITIALIZER; pthread_mutex_t m=PTHREAD_MUTEX_INITIALIZER; int ok;
void *t(void*_){ pthread_mutex_lock(&m); while(!ok) pthread_cond_wait(&c,&m); pthread_mutex_unlock(&m); return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); pthread_cond_init(&c,0); pthread_mutex_lock(&m); ok=1; pthread_cond_signal(&c); pthread_mutex_unlock(&m); pthread_join(p,0); }
