// expect: undecided: calls `signal`
#include <signal.h>
static void on(int n) { (void)n; }
int main(void)
{
    signal(SIGINT, on);
    return 0;
}
