// expect: tso=safe pso=safe
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <semaphore.h>
static sem_t s;
int main(void) {
    errno = 0;
    assert(sem_init(&s, 0, 1u + INT_MAX) == -1 && errno == EINVAL);
    assert(sem_init(&s, 0, INT_MAX) == 0);
    assert(sem_post(&s) == -1 && errno == EOVERFLOW);
    assert(sem_wait(&s) == 0 && sem_post(&s) == 0);
    int value;
    assert(sem_getvalue(&s, &value) == 0 && value == INT_MAX);
    return sem_destroy(&s);
}
