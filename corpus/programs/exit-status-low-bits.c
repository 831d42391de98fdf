// expect: error: the program ends with status 3
#include <stdlib.h>
int main(void) { exit(0x103); }
