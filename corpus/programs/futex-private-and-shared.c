// expect: error: waits to be woken
// For the kernel these are two futexes at one address.
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <linux/futex.h>
#include <stdatomic.h>
atomic_uint a;
void *t(void*_){ a=1; syscall(SYS_futex,&a,FUTEX_WAKE_PRIVATE,1,0,0,0); return 0; }
int main(){ pthread_t p; pthread_create(&p,0,t,0); while(!a) syscall(SYS_futex,&a,FUTEX_WAIT,0,0,0,0); pthread_join(p,0); }
