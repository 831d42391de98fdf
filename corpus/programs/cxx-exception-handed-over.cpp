// expect: error: main: uncaught exception `std::runtime_error`: from T1 (thrown again at
// Thrown in one thread, kept, thrown again in another.
#include <exception>
#include <stdexcept>
#include <thread>
static std::exception_ptr kept;
int main()
{
    std::thread t([] {
        try {
            throw std::runtime_error("from T1");
        } catch (...) {
            kept = std::current_exception();
        }
    });
    t.join();
    std::rethrow_exception(kept);
}
