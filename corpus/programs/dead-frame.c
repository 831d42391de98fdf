// expect: error: in a function that has returned
// The thread goes on, its function is over.
#include <pthread.h>
#include <stdatomic.h>
_Atomic(int*) p; atomic_int stop;
__attribute__((noinline)) void f(){ int l=0; p=&l; }
void *t2(void*_){ int*q; while(!(q=p)); *q=5; return 0; }
int main(){ pthread_t b; pthread_create(&b,0,t2,0); f(); pthread_join(b,0); }
