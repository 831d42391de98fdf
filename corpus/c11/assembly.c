// expect: unsafe
// Inline assembly: plain instructions are relaxed accesses, and do not race.
#include <pthread.h>
static int data, ready;
static void store(int *p, int v) { __asm__ volatile("movl %1, %0" : "=m"(*p) : "r"(v) : "memory"); }
static int load(int *p) { int v; __asm__ volatile("movl %1, %0" : "=r"(v) : "m"(*p) : "memory"); return v; }
static void *run(void *arg) { (void)arg; store(&data, 1); store(&ready, 1); return 0; }
int main(void)
{
    pthread_t a;
    pthread_create(&a, 0, run, 0);
    int seen = load(&ready), value = load(&data);
    pthread_join(a, 0);
    return seen + value > 2;
}
