// expect: tso=safe pso=safe
// Handlers for failures and for the wish that a program ends are set, and not run.
#include <signal.h>
static void on(int n) { (void)n; }
int main(void)
{
    struct sigaction action = {.sa_handler = on}, old;
    stack_t stack;
    if (sigaction(SIGSEGV, &action, &old) || old.sa_handler != SIG_DFL || sigaltstack(0, &stack))
        return 1;
    signal(SIGTERM, on);
    signal(SIGPIPE, SIG_IGN);
    return 0;
}
