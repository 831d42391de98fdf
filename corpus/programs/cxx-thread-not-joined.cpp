// expect: error: abort
// The destructor of a joinable thread calls std::terminate.
#include <thread>
int main() { std::thread t([] {}); }
