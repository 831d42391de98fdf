// expect: error: uncaught exception `std::out_of_range`: first (thrown again at
// In between another exception is thrown and caught.
#include <stdexcept>
#include <thread>
static void handle()
{
    try {
        throw std::out_of_range("first");
    } catch (const std::exception &) {
        try {
            throw 1;
        } catch (int) {
        }
        throw;
    }
}
int main()
{
    std::thread t(handle);
    t.join();
}
