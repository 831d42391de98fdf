#include <pthread.h>
static pthread_t started;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void start(void *(*f)(void *)) { pthread_create(&started, 0, f, 0); }
void finish(void) { pthread_join(started, 0); }
void enter(void) { pthread_mutex_lock(&lock); }
void leave(void) { pthread_mutex_unlock(&lock); }
