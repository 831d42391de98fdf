// expect: tso=safe pso=safe
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <assert.h>
static void *run(void *p)
{
    char text[64];
    printf("thread %ld: %s %.3f\n", (long)p, "hello", 3.14159);
    fprintf(stderr, "thread %ld\n", (long)p);
    puts("puts");
    putchar('\n');
    fflush(stdout);
    assert(snprintf(text, sizeof text, "%d-%s", 42, "x") == 4 && strcmp(text, "42-x") == 0);
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
