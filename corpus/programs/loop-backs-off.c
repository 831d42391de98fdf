// expect: tso=safe pso=safe
// classes: 4
// How long it sleeps makes no difference.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
atomic_flag f; int c;
void lock(){ int d=1; while(atomic_flag_test_and_set(&f)) { usleep(d); if(d<1024) d*=2; } }
void *t(void*a){ lock(); c++; atomic_flag_clear(&f); return 0; }
int main(){ pthread_t p[2]; for(int i=0;i<2;i++) pthread_create(&p[i],0,t,0); for(int i=0;i<2;i++) pthread_join(p[i],0); return c!=2; }
