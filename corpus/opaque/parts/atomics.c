#include <stdatomic.h>
atomic_int flag[2];
void raise_flag(int i) { atomic_store_explicit(&flag[i], 1, memory_order_release); }
int see_flag(int i) { return atomic_load_explicit(&flag[i], memory_order_acquire); }
