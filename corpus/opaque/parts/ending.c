/* What is run at the end of a program. */
int begun, ended;
static int own;
int begin(void) { return begun = 1; }
__attribute__((destructor)) static void end(void)
{
    own++;
    ended = begun;
}
