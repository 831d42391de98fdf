// expect: tso=safe pso=safe
// object: worker.c
int begin(void (*)(void), int *);
int finish(void);
static int count;
int main(void)
{
    begin(0, 0);
    count = 1;
    finish();
    return count - 1;
}
