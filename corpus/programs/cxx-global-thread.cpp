// expect: error: neither joined nor detached
// The destructor of a global comes after main.
#include <thread>
static std::thread global;
int main()
{
    global = std::thread([] {});
}
