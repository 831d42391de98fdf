// expect: tso=unsafe pso=unsafe
# 1 "queue.c"
typedef unsigned long pthread_t;
extern int pthread_create(pthread_t *, const void *, void *(*)(void *), void *);
extern int pthread_join(pthread_t, void **);
static volatile int x, y, r;
static void *run(void *p)
{
    x = 1;
    r = y;
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    y = 1;
    int s = x;
    pthread_join(t, 0);
    return s + r > 2;
}
