// expect: tso=undecided pso=undecided
// says: is not instrumented, and touches `place`
// flags: -std=c++17
// The compiled part of the C++ library calls on: what changes the path is a function of strings in there.
#include <cassert>
#include <filesystem>
#include <thread>
static std::filesystem::path place = "a";
int main()
{
    std::thread other([] { place /= "somewhere further down"; });
    assert(place.native().size() == 1);
    other.join();
}
