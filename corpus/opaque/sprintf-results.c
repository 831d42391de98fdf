// expect: tso=safe pso=safe
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <assert.h>
static void *other(void *p)
{
    char text[64], name[] = "name";
    assert(sprintf(text, "%s %5.2f %ld %c|%-4d|", name, 2.5, 123456789012L, 'c', 7) == 31);
    assert(!strcmp(text, "name  2.50 123456789012 c|7   |"));
    assert(snprintf(text, 4, "%d %d %d %d %d %d %d %d", 1, 2, 3, 4, 5, 6, 7, 8) == 15 && !strcmp(text, "1 2"));
    assert(snprintf(0, 0, "%s", name) == 4);
    printf("%s %.2s %*d %f\n", text, name, 3, 5, 1.0);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    other(0);
    pthread_join(t, 0);
}
