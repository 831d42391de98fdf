// expect: undecided: uses `errno` of another thread
#include <pthread.h>
#include <errno.h>
#include <assert.h>
#include <stdatomic.h>
_Atomic(int*) e; 
void *t(void*a){ int*q; while(!(q=e)); *q=7; return 0; }
int main(){ pthread_t p; errno=0; pthread_create(&p,0,t,0); e=&errno; assert(errno==0); pthread_join(p,0); }
