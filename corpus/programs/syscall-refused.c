// expect: undecided: makes the system call `epoll_wait` (232)
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    syscall(SYS_epoll_wait, -1, 0, 0, 0);
    return 0;
}
