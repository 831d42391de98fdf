// expect: error: reaches an error
// driver: --nondet -1..2
#include <pthread.h>
#include <stdbool.h>
int __VERIFIER_nondet_int(void);
unsigned char __VERIFIER_nondet_uchar(void);
_Bool __VERIFIER_nondet_bool(void);
void __VERIFIER_assume(int);
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);
extern void reach_error(void);
static int n;
static void *run(void *p)
{
    int more = __VERIFIER_nondet_int();
    __VERIFIER_assume(more >= 0);
    __VERIFIER_atomic_begin();
    n += more;
    __VERIFIER_atomic_end();
    return p;
}

int main(void)
{
    pthread_t t[2];
    int last = __VERIFIER_nondet_uchar();
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    if (n + last == 6 && __VERIFIER_nondet_bool())
        reach_error();
}
