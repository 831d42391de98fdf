// expect: tso=unsafe pso=unsafe
// library: worker.c
// What the thread begins with is code of the library; what it calls back is the program's.
int begin(void (*)(void), int *);
int finish(void);
static int x, y, seen, found;
static void other(void)
{
    x = 1;
    seen = y;
}
int main(void)
{
    begin(other, 0);
    y = 1;
    found = x;
    finish();
}
