// expect: tso=undecided pso=undecided
// Nothing is left: that nothing was found says nothing.
#include <membar.h>
int main(void)
{
    membar_assume(membar_choose(3) == 3);
}
