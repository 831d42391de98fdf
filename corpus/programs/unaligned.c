// expect: tso=unsafe pso=unsafe
#include <pthread.h>
struct __attribute__((packed)) s { char c; int a; char d; long b; };
static struct s s;
static volatile int r0;
static volatile long r1;
static void *run(void *p)
{
    volatile struct s *v = &s;
    if (p) {
        v->a = 1;
        r1 = v->b;
    } else {
        v->b = 1;
        r0 = v->a;
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
