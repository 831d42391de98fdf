// expect: tso=safe pso=safe
// quick_exit runs its own handlers, the last one first, and no others; _Exit runs none.
#include <assert.h>
#include <stdlib.h>
static int n;
static void never(void) { abort(); }
static void first(void) {
    assert(n == 1);
    _Exit(0);
}
static void second(void) { n = 1; }
__attribute__((destructor)) static void end(void) { abort(); }
int main(void) {
    atexit(never);
    at_quick_exit(first);
    at_quick_exit(second);
    quick_exit(2);
}
