// expect: tso=safe pso=safe
// classes: 16
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include <time.h>
#include <sched.h>
#include <assert.h>
atomic_int flag; int data;
void *wait(void*a){ for(int i=0;!atomic_load(&flag);i++) if(i<10) __builtin_ia32_pause(); else sched_yield(); assert(data==1); return 0; }
void *set(void*a){ data=1; atomic_store(&flag,1); return 0; }
int main(){ pthread_t p,q,r; pthread_create(&p,0,wait,0); pthread_create(&q,0,wait,0); pthread_create(&r,0,set,0); pthread_join(p,0); pthread_join(q,0); pthread_join(r,0); }
