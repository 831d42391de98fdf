#include "probe.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum state { IDLE, BUSY = 5, BROKEN = -1 };
struct node { struct node *next; int key; };
typedef struct { long id; char tag[4]; } record_t;
struct queue {
    pthread_mutex_t lock;
    struct node *head, *tail;
    union { int number; float real; long both; };
    struct { short low, high; } parts;
    unsigned a : 3, b : 5;
    unsigned : 0;
    unsigned c : 9;
    enum state state;
    record_t records[2];
};
struct flexible { int count; struct node items[]; };
union overlay { struct { int first, second; }; long whole; };

volatile int flag[2];
int grid[2][3][4];
struct queue queue;
static struct node table[4];
_Atomic int counter;
atomic_flag spin;
const volatile bool ready = true;
char buffer[16];
uint8_t byte;
double ratio;
enum state mode = BUSY;
struct node *const shared = &table[1];
union overlay overlay;
record_t record;
_Thread_local int mine[3];
static _Thread_local struct node hidden;
int (*callback)(void);

static size_t last_pc;
static void OPAQUE *take(size_t size) {
    last_pc = PC();
    return malloc(size);
}

static inline int __attribute__((always_inline)) inner(int x) {
    PLACE("inner");
    return x + 1;
}

static void OPAQUE count(void) {
    static int calls;
    calls++;
    VARIABLE_AS(calls, "count::calls");
    PLACE("count");
}

void OPAQUE worker(struct node by_value, int number) {
    struct node copies[2] = {by_value, by_value};
    LOCAL(copies[1].key, "worker::copies[1].key");
    LOCAL(number, "worker::number");
    {
        int block = number * 2;
        LOCAL(block, "worker::block");
    }
    for (int i = 0; i < 1; i++) {
        long turns = i;
        LOCAL(turns, "worker::turns");
    }
    LOCAL(copies[0].next, "worker::copies[0].next");
    printf("# %d\n", inner(number));
}

static void heaps(void) {
    struct node *n = take(sizeof(struct node));
    HEAP(last_pc, sizeof *n, n, n->key, "node key");
    record_t *r = take(3 * sizeof(record_t));
    HEAP(last_pc, 3 * sizeof *r, r, r[2].tag[1], "record_t [2].tag[1]");
    struct queue *q;
    q = take(sizeof *q);
    HEAP(last_pc, sizeof *q, q, q->records[1].id, "queue records[1].id");
    q->head = take(sizeof(*q->head));
    HEAP(last_pc, sizeof *q->head, q->head, q->head->next, "node next");
    size_t size = sizeof(struct queue);
    void *p = take(size);
    HEAP(last_pc, size, p, ((struct queue *)p)->tail, "queue tail");
    struct flexible *f = take(sizeof(struct flexible) + 3 * 16);
    HEAP(last_pc, sizeof *f + 3 * 16, f, f->items[2].key, "flexible items[2].key");
    int *numbers = take(10 * sizeof(int));
    HEAP(last_pc, 10 * sizeof(int), numbers, numbers[7], "int [7]");
    void *unknown = take(7);
    HEAP(last_pc, 7, unknown, *(char *)unknown, "-");
}

int main(void) {
    VARIABLE(flag);
    VARIABLE(flag[0]);
    VARIABLE(flag[1]);
    VARIABLE(grid[1][2][3]);
    VARIABLE(grid[0][1][0]);
    VARIABLE(queue.head);
    VARIABLE_AS(queue.lock.__data.__lock, "queue.lock");
    VARIABLE_AS(queue.lock.__data.__owner, "queue.lock");
    VARIABLE(queue.number);
    VARIABLE(queue.both);
    VARIABLE(queue.parts.high);
    VARIABLE(queue.state);
    VARIABLE(queue.records[1].tag[2]);
    VARIABLE(table[3].next);
    VARIABLE(counter);
    VARIABLE(spin);
    VARIABLE(ready);
    VARIABLE(buffer[5]);
    VARIABLE(byte);
    VARIABLE(ratio);
    VARIABLE(mode);
    VARIABLE_AS(shared, "shared");
    VARIABLE(overlay.second);
    VARIABLE(overlay.whole);
    VARIABLE(record.id);
    VARIABLE(callback);
    VARIABLE(last_pc);
    VARIABLE_AS(*(long *)&buffer[4], "buffer[4..12]");
    VARIABLE_AS(*((char *)&ratio + 3), "ratio+3");
    VARIABLE_AS(*(long *)&queue.head, "queue.head");
    VARIABLE_AS(*(int *)&queue.parts, "queue.parts");
    VARIABLE_AS(*((char *)(&queue.parts + 1)), "queue.{a,b}");
    VARIABLE_AS(*(short *)((char *)(&queue.parts + 1) + 4), "queue.c");
    PLACE("main");
    count();
    worker(table[2], 7);
    heaps();
    printf("# %p %p\n", (void *)mine, (void *)&hidden);
    return 0;
}
