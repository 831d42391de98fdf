/* Two threads that each announce themselves and look for the other one: at most one finds itself alone, unless the stores
   are delayed. With -DBROKEN nothing keeps them from being so. */
#include "../weak.h"

#ifdef BROKEN
#define STORE rel
#define LOAD acq
#else
#define STORE sc
#define LOAD sc
#endif

static atomic_int here[2];

static inline int alone(int me)
{
    store(&here[me], 1, STORE);
    return !load(&here[!me], LOAD);
}
