// expect: safe
// Memory that is freed and allocated again is other memory.
#include <pthread.h>
#include <stdlib.h>
static void *run(void *arg) { (void)arg; int *p = malloc(sizeof *p); *p = 1; free(p); return 0; }
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
