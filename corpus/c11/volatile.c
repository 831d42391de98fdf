// expect: error
// volatile is plain.
#include <pthread.h>
static volatile int flag;
static void *run(void *arg) { (void)arg; flag = 1; return 0; }
int main(void)
{
    pthread_t a;
    pthread_create(&a, 0, run, 0);
    int seen = flag;
    pthread_join(a, 0);
    return seen == 2;
}
