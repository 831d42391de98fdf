// expect: tso=safe pso=safe
#include <cassert>
#include <new>
int main()
{
    volatile unsigned long n = 1ul << 62;
    int caught = 0;
    try {
        delete[] new char[n];
    } catch (const std::bad_alloc &) {
        caught++;
    }
    try {
        ::operator delete(::operator new(n, std::align_val_t(64)), std::align_val_t(64));
    } catch (const std::bad_alloc &) {
        caught++;
    }
    assert(caught == 2 && !new (std::nothrow) char[n]);
    int *p = new int(1);
    assert(*p == 1);
    delete p;
}
