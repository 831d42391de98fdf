// expect: error: deadlock
// library: threads.c
#include <pthread.h>
void enter(void), leave(void);
static void *other(void *p) { enter(); leave(); return p; }
int main(void)
{
    pthread_t t;
    enter();
    pthread_create(&t, 0, other, 0);
    pthread_join(t, 0);
    leave();
}
