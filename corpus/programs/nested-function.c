// expect: undecided: runs code on its stack
// only: gcc
// A nested function whose address is taken needs a stack that can be executed.
#include <stdlib.h>
int main(void) {
  int direction = -1, numbers[3] = {1, 2, 3};
  int compare(const void *a, const void *b) { return direction * (*(const int *)a - *(const int *)b); }
  qsort(numbers, 3, sizeof *numbers, compare);
  return numbers[0] != 3;
}
