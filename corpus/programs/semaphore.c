// expect: tso=safe pso=safe
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
static sem_t items, room;
static int slot;
static void *produce(void *p)
{
    for (int i = 1; i <= 2; i++) {
        sem_wait(&room);
        slot = i;
        sem_post(&items);
    }
    return p;
}
int main(void)
{
    pthread_t t;
    int value;
    sem_init(&items, 0, 0);
    sem_init(&room, 0, 1);
    assert(sem_trywait(&items) == -1 && errno == EAGAIN);
    assert(sem_getvalue(&room, &value) == 0 && value == 1);
    pthread_create(&t, 0, produce, 0);
    for (int i = 1; i <= 2; i++) {
        sem_wait(&items);
        assert(slot == i);
        sem_post(&room);
    }
    pthread_join(t, 0);
    sem_destroy(&items);
    return 0;
}
