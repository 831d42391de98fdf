// expect: tso=safe pso=safe
// classes: 4
// How many rounds it is until it yields decides nothing.
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>
atomic_int x; 
void *t(void *a){ int spins=0; while(!x) if(++spins>100) { spins=0; sched_yield(); } return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); x=1; pthread_join(p,0); return 0; }
