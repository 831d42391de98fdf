// expect: safe
// What is initialised once is visible to everybody who asked for it.
#include <pthread.h>
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int data;
static void init(void) { data = 1; }
static void *run(void *arg) { pthread_once(&once, init); return data == 1 ? 0 : arg; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
