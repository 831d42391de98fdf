#include "probe.h"
#include <execinfo.h>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

static size_t last_pc;

namespace ns {
std::atomic<int> counter;
namespace {
int hidden[2];
}
inline namespace __v1 {
long versioned;
}
struct base {
    int in_base;
};
struct empty {};
class item : public empty, public base {
  public:
    static int count;
    static inline int inlined = 1;
    virtual ~item() {}
    std::atomic<bool> busy;
    item *next;
    void lock() {
        static int calls;
        calls++;
        VARIABLE_AS(calls, "ns::item::lock::calls");
        PLACE("ns::item::lock");
        LOCAL_HERE();
    }
    void LOCAL_HERE() {
        int here = 3;
        LOCAL(here, "ns::item::LOCAL_HERE::here");
    }
};
int item::count = 4;
enum class color : unsigned char { red, green };
color paint = color::green;
} // namespace ns

struct user {
    int x, y;
};
struct alone : std::mutex {
    int extra;
};
template <class T> struct cell {
    T value;
    cell<T> *next;
    static T total;
    void OPAQUE put(T t) {
        value = t;
        total += t;
        PLACE("cell<long>::put");
    }
};
template <class T> T cell<T>::total;

std::mutex mutex;
std::array<int, 4> numbers;
std::pair<int, long> both;
std::optional<user> maybe;
std::vector<int> list;
std::string text = "long enough that it is on the heap, surely";
std::atomic<ns::item *> head;
ns::item first;
alone lonely;
int &alias = numbers[2];
thread_local std::atomic<long> mine;

struct tracked {
    long a;
    ~tracked() { a = 0; }
};

// What the run-time library would do for operator new: note who called.
static void *stack[32];
static int stack_size, stack_start;
static void *noted(size_t size, size_t pc) {
    last_pc = pc;
    stack_size = backtrace(stack, 32);
    for (stack_start = 0; (size_t)stack[stack_start] - (size_t)__ehdr_start != pc; stack_start++) {}
    void *at = malloc(size);
    if (!at) __builtin_trap();
    return at;
}
OPAQUE void *operator new(size_t size) { return noted(size, PC()); }
OPAQUE void *operator new[](size_t size) { return noted(size, PC()); }
void operator delete(void *at) noexcept { free(at); }
void operator delete(void *at, size_t) noexcept { free(at); }
void operator delete[](void *at) noexcept { free(at); }
void operator delete[](void *at, size_t) noexcept { free(at); }

int main() {
    VARIABLE(ns::counter);
    VARIABLE(ns::hidden[1]);
    VARIABLE(ns::versioned);
    VARIABLE(ns::item::count);
    VARIABLE(ns::item::inlined);
    VARIABLE(ns::paint);
    VARIABLE(first.in_base);
    VARIABLE(first.busy);
    VARIABLE(first.next);
    VARIABLE_AS(*(void **)&first, "first.vptr");
    VARIABLE_AS(cell<long>::total, "cell<long>::total");
    VARIABLE_AS(*(int *)&mutex, "mutex");
    VARIABLE_AS(((int *)&mutex)[2], "mutex");
    VARIABLE(numbers[2]);
    VARIABLE(both.second);
    VARIABLE_AS(*((int *)&maybe + 1), "maybe.y");
    VARIABLE_AS(*((void **)&list + 1), "list");
    VARIABLE_AS(*((size_t *)&text + 1), "text");
    VARIABLE(head);
    VARIABLE(lonely.extra);
    VARIABLE_AS(*(int *)&lonely, "lonely");
    cell<long> c;
    c.put(3);
    ns::item().lock();
    int captured = 1;
    auto lambda = [&captured](int n) {
        PLACE("main::{lambda}");
        int inside = n + captured;
        LOCAL(inside, "main::{lambda}::inside");
        return inside;
    };
    captured = lambda(2);
    LOCAL(captured, "main::captured");

    auto *node = new ns::item();
    HEAP(last_pc, sizeof *node, node, node->busy, "ns::item busy");
    auto *cells = new cell<long>[3];
    HEAP(last_pc, 3 * sizeof *cells, cells, cells[2].next, "cell<long> [2].next");
    auto *cookies = new tracked[2];
    HEAP(last_pc, 8 + 2 * sizeof *cookies, (char *)cookies - 8, cookies[1].a, "tracked [1].a");
    // Allocated in a header, for a line of ours.
    auto shared = std::make_shared<user>();
    printf("stack ");
    for (int i = stack_start; i < stack_size; i++)
        printf("%zu,", (size_t)stack[i] - (size_t)__ehdr_start);
    printf("0 24 20 4 user y\n");
    PLACE("main");
    mine++;
    return 0;
}
