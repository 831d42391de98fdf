// expect: tso=undecided pso=undecided
// says: `run` is not instrumented, and touches `count`
// object: worker.c
int begin(void (*)(void), int *);
int finish(void);
static int count;
int main(void)
{
    begin(0, &count);
    count = 1;
    finish();
}
