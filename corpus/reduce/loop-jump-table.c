// expect: error
// A round is a step of a machine with eight states.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

static void *waits(void *p)
{
    int state = 0;

    while (!atomic_load(&x))
        switch (state) {
        case 0: state = 3; break;
        case 1: state = 5; break;
        case 2: state = 7; break;
        case 3: state = 1; break;
        case 4: state = 6; break;
        case 5: state = 2; break;
        case 6: state = 0; break;
        default: state = 4;
        }
    assert(state != 5);
    return p;
}
