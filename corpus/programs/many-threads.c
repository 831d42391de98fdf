// expect: undecided: threads
// More than membar runs.
#include <pthread.h>
static void *run(void *p) { return p; }
int main(void)
{
    pthread_t t[300];
    for (int i = 0; i < 300; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 300; i++)
        pthread_join(t[i], 0);
    return 0;
}
