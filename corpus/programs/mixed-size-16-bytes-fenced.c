// expect: tso=safe pso=safe
// flags: -mcx16 -DFENCED
// The same with a fence between the store of one half and the load of the other.
#include "mixed-size-16-bytes.c"
