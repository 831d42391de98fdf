// expect: tso=safe pso=safe
#include <cassert>
#include <future>
#include <memory>
int main()
{
    auto p = std::make_unique<std::promise<int>>();
    auto f = p->get_future();
    std::thread t([&p] { p.reset(); });
    bool broken = false;
    try {
        f.get();
    } catch (const std::future_error &) {
        broken = true;
    }
    t.join();
    assert(broken);
}
