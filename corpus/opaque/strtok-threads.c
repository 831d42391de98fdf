// expect: tso=undecided pso=undecided
// says: `strtok`
#include <pthread.h>
#include <string.h>
static void *other(void *p)
{
    char text[] = "a b";
    strtok(text, " ");
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    other(0);
    pthread_join(t, 0);
}
