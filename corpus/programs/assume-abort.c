// expect: tso=safe pso=safe
// driver: --nondet 0..4
// Tests in the style of a competition write assumptions like that.
#include <assert.h>
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
void assume_abort_if_not(int cond)
{
    if (!cond)
        abort();
}
int main(void)
{
    int n = __VERIFIER_nondet_int();
    assume_abort_if_not(n != 3);
    assert(n != 3);
}
