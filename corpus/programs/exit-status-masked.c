// expect: tso=safe pso=safe
// Whoever waits for the process sees eight bits.
int main(void) { return 512; }
