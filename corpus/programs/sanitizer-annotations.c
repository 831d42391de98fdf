// expect: tso=safe pso=safe
// What programs tell a sanitizer changes nothing, and links.
#include <pthread.h>
#include <stdatomic.h>
void AnnotateHappensBefore(const char *, int, const volatile void *);
void AnnotateHappensAfter(const char *, int, const volatile void *);
void AnnotateBenignRaceSized(const char *, int, const volatile void *, long, const char *);
void __tsan_acquire(void *);
void __tsan_release(void *);
void __tsan_mutex_pre_lock(void *, unsigned);
void __tsan_mutex_post_lock(void *, unsigned, int);
int __tsan_mutex_pre_unlock(void *, unsigned);
void __tsan_mutex_post_unlock(void *, unsigned);
int RunningOnValgrind(void);
static atomic_int flag;
static int data;
static void *run(void *p)
{
    data = 1;
    AnnotateHappensBefore(__FILE__, __LINE__, &flag);
    __tsan_release(&flag);
    atomic_store_explicit(&flag, 1, memory_order_seq_cst);
    return p;
}

int main(void)
{
    pthread_t t;
    AnnotateBenignRaceSized(__FILE__, __LINE__, &data, sizeof data, "none");
    pthread_create(&t, 0, run, 0);
    while (!atomic_load(&flag)) {
    }
    AnnotateHappensAfter(__FILE__, __LINE__, &flag);
    __tsan_acquire(&flag);
    __tsan_mutex_pre_lock(&flag, 0);
    __tsan_mutex_post_lock(&flag, 0, 0);
    int ok = data == 1 && !RunningOnValgrind() && !__tsan_mutex_pre_unlock(&flag, 0);
    __tsan_mutex_post_unlock(&flag, 0);
    pthread_join(t, 0);
    return !ok;
}
