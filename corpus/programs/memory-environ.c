// expect: undecided: accesses memory that membar does not manage
#include <pthread.h>
extern char **environ;
static int flag, seen, found;
static void *other(void *p)
{
    environ[0] = 0;
    seen = flag;
    return p;
}
int main(void)
{
    static char text[] = "A=1";
    environ[0] = text;
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    flag = 1;
    found = environ[0] != 0;
    pthread_join(t, 0);
}
