void set(int *p) { *p = 1; }
