// expect: tso=safe pso=unsafe
// strcpy and strlen of shared memory, plain as they are.
#include <pthread.h>
#include <string.h>
static char s[16];
static volatile int flag, seen;
static void *run(void *p)
{
    if (p) {
        strcpy(s, "hello, world");
        flag = 1;
    } else if (flag) {
        seen = (int)strlen(s);
    }
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
