// expect: tso=safe pso=safe
#include <cassert>
#include <memory>
#include <thread>
static int dead;
struct Thing { int v = 5; ~Thing() { dead++; } };
int main()
{
    auto p = std::make_shared<Thing>();
    std::thread t([p] { assert(p->v == 5); });
    std::thread u([q = std::weak_ptr<Thing>(p)] { if (auto s = q.lock()) assert(s->v == 5); });
    p.reset();
    t.join();
    u.join();
    assert(dead == 1);
}
