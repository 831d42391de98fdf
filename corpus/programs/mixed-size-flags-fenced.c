// expect: tso=safe pso=safe
// flags: -DFENCED
// The same with a fence between raising the byte and looking at the word.
#include "mixed-size-flags.c"
