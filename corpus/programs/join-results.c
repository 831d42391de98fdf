// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static void *run(void *p)
{
    int *out = malloc(sizeof *out);
    *out = *(int *)p * 2;
    return out;
}
int main(void)
{
    pthread_t t[3];
    int in[3] = { 1, 2, 3 }, sum = 0;
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, run, &in[i]);
    for (int i = 2; i >= 0; i--) {
        void *out;
        pthread_join(t[i], &out);
        sum += *(int *)out;
        free(out);
    }
    assert(sum == 12);
    return 0;
}
