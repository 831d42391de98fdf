// expect: undecided: calls `pthread_exit`
// It would have to run the destructors of the frames, and handlers. membar says that it does not.
#include <cassert>
#include <pthread.h>
static int order, seen[3];
struct Guard { int *at; ~Guard() { *at = ++order; } };
static void handler(void *p) { *static_cast<int *>(p) = ++order; }
static void deep()
{
    Guard g{&seen[0]};
    try {
        pthread_exit(reinterpret_cast<void *>(5));
    } catch (...) {
        seen[1] = ++order;
        throw;
    }
}
static void *run(void *)
{
    pthread_cleanup_push(handler, &seen[2]);
    deep();
    pthread_cleanup_pop(0);
    return nullptr;
}
int main()
{
    pthread_t t;
    void *r;
    pthread_create(&t, nullptr, run, nullptr);
    pthread_join(t, &r);
    assert(r == reinterpret_cast<void *>(5) && seen[1] == 1 && seen[0] == 2 && seen[2] == 3);
}
