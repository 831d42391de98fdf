// expect: tso=safe pso=safe
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
int main(void) {
    pthread_key_t keys[1100], again;
    int n = 0, value;
    while (n < 1100 && pthread_key_create(&keys[n], 0) == 0)
        n++;
    assert(n == 1024 && pthread_key_create(&again, 0) == EAGAIN);
    assert(pthread_setspecific(keys[5], &value) == 0 && pthread_getspecific(keys[5]) == &value);
    assert(pthread_key_delete(keys[5]) == 0 && pthread_key_delete(keys[5]) == EINVAL);
    assert(pthread_setspecific(keys[5], &value) == EINVAL);
    assert(pthread_key_create(&again, 0) == 0 && pthread_getspecific(again) == 0);
    return 0;
}
