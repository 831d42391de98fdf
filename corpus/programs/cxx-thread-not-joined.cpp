// expect: error: main destroys a `std::thread` that was neither joined nor detached
// The destructor of a joinable thread calls std::terminate.
#include <thread>
int main() { std::thread t([] {}); }
