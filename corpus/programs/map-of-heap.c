// expect: error: unmaps memory that it has not mapped
// A block of the heap is no mapping, even if it is a page.
#include <stdlib.h>
#include <sys/mman.h>

int main(void)
{
    void *page = aligned_alloc(4096, 4096);

    munmap(page, 4096);
}
