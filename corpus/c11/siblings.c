// expect: error
// Two threads of one parent are not ordered by it.
#include <pthread.h>
static int data;
static void *writes(void *arg) { (void)arg; data = 1; return 0; }
static void *reads(void *arg) { (void)arg; return data ? 0 : arg; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, writes, 0);
    pthread_create(&b, 0, reads, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
