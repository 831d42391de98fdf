// expect: error: writes memory that may not be accessed
#include <sys/mman.h>

int main(void)
{
    char *pages = mmap(0, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    mprotect(pages, 2 * 4096, PROT_READ | PROT_WRITE);
    pages[2 * 4096 - 1] = 1;
    pages[2 * 4096] = 1;
}
