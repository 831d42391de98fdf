// expect: safe
// What came before a thread was created is visible in it, and what it did after it was joined.
#include <pthread.h>
static int before, after;
static void *run(void *arg) { (void)arg; after = before + 1; return 0; }
static void *idle(void *arg) { (void)arg; return 0; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&b, 0, idle, 0);
    before = 1;
    pthread_create(&a, 0, run, 0);
    pthread_join(a, 0);
    int result = after != 2;
    pthread_join(b, 0);
    return result;
}
