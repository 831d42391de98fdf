// expect: tso=safe pso=safe
// flags: -DFENCED
// The same with a fence before each of the loads.
#include "mixed-size-neighbours.cpp"
