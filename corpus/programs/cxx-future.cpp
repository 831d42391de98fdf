// expect: tso=safe pso=safe
#include <cassert>
#include <future>
#include <stdexcept>
#include <string>
int main()
{
    std::promise<int> p;
    std::future<int> f = p.get_future();
    std::thread t([&p] { p.set_value(42); });
    assert(f.get() == 42);
    t.join();
    auto a = std::async(std::launch::async, [] { return std::string("from another thread, and long"); });
    assert(a.get().size() == 29);
    auto e = std::async(std::launch::async, []() -> int { throw std::runtime_error("bad"); });
    try {
        e.get();
        assert(false);
    } catch (const std::runtime_error &error) {
        assert(std::string(error.what()) == "bad");
    }
    auto d = std::async(std::launch::deferred, [] { return 3; });
    assert(d.get() == 3);
    std::packaged_task<int(int)> task([](int n) { return n + 1; });
    auto r = task.get_future();
    std::thread u(std::move(task), 4);
    assert(r.get() == 5);
    u.join();
}
