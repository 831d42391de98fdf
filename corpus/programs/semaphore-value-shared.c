// expect: tso=unsafe pso=unsafe
// The value is stored like any other variable.
#include <pthread.h>
#include <semaphore.h>
static sem_t semaphore;
static int value, flag, seen, found;
static void *other(void *p)
{
    sem_getvalue(&semaphore, &value);
    seen = flag;
    return p;
}
int main(void)
{
    sem_init(&semaphore, 0, 4);
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    flag = 1;
    found = value;
    pthread_join(t, 0);
}
