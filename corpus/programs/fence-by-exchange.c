// expect: tso=safe pso=safe
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
atomic_int x,y; int r0,r1;
static void fence(void){ atomic_int d=0; atomic_exchange(&d,1); }
void *a(void*p){ atomic_store_explicit(&x,1,memory_order_relaxed); fence(); r0=atomic_load_explicit(&y,memory_order_relaxed); return NULL;}
void *b(void*p){ atomic_store_explicit(&y,1,memory_order_relaxed); fence(); r1=atomic_load_explicit(&x,memory_order_relaxed); return NULL;}
int main(){ pthread_t t,u; pthread_create(&t,NULL,a,NULL); pthread_create(&u,NULL,b,NULL); pthread_join(t,NULL); pthread_join(u,NULL); return 0;}
