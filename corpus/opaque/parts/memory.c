#include <stdlib.h>
int common[64];
static int hidden[64];
void *from_heap(void) { return calloc(64, sizeof(int)); }
void *from_data(void) { return hidden; }
