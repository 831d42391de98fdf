// expect: undecided: calls `signal`
#include <signal.h>
static void on(int n) { (void)n; }
int main(void)
{
    signal(SIGUSR1, on);
    return 0;
}
