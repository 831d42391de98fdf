// expect: tso=safe pso=safe
// Each thread has an element of its own; nothing is shared.
#include <pthread.h>
static struct { int n; char name[13]; short s; } e[4];
static void *run(void *p)
{
    long i = (long)p;
    for (int k = 0; k < 50; k++) {
        e[i].n += k;
        e[i].name[k % 13] = (char)k;
        e[i].s = (short)e[i].n;
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
