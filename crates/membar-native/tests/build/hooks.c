// A runtime that checks what it is told. A plain write must be done by the next call; a write that was announced early
// must not be done at the read that follows, and must be done at the call after it. Linked with an instrumented object
// into a native program.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *pending, before[65536];
static size_t size;
static int early, reads;
long early_writes, plain_writes, updates, kinds[12];

static void settle(int read) {
    if (!pending) return;
    int done = memcmp(pending, before, size) != 0;
    if (early && read && reads == 0) {
        if (done) printf("an early write of %zu was done before the read\n", size), exit(1);
        reads = 1;
        return;
    }
    if (!done) printf("a write of %zu was announced and not done\n", size), exit(1);
    pending = 0;
}

static void announce(void *address, size_t bytes, int is_early) {
    settle(0);
    pending = address, size = bytes, early = is_early, reads = 0;
    memcpy(before, address, bytes);
    if (is_early) early_writes++; else plain_writes++;
}

#define HOOKS(N) \
    void __tsan_write##N(void *a) { announce(a, N, 0); } \
    void __tsan_unaligned_write##N(void *a) { announce(a, N, 0); } \
    void __tsan_volatile_write##N(void *a) { announce(a, N, 0); } \
    void __tsan_unaligned_volatile_write##N(void *a) { announce(a, N, 0); } \
    void __membar_early_write##N(void *a) { announce(a, N, 1); } \
    void __membar_update##N(void *a) { announce(a, N, 0); updates++; } \
    void __tsan_read##N(void *a) { settle(1); } \
    void __tsan_unaligned_read##N(void *a) { settle(1); } \
    void __tsan_volatile_read##N(void *a) { settle(1); } \
    void __tsan_unaligned_volatile_read##N(void *a) { settle(1); }
HOOKS(1) HOOKS(2) HOOKS(4) HOOKS(8) HOOKS(16)
void __tsan_write_range(void *a, size_t n) { announce(a, n, 0); }
void __membar_early_write_range(void *a, size_t n) { announce(a, n, 1); }
void __tsan_read_range(void *a, size_t n) { settle(1); }
void __tsan_func_entry(void *pc) { settle(0); }
void __tsan_func_exit(void) { settle(0); }
void __tsan_init(void) {}

// Called from inline assembly: it must change nothing, so the caller's arithmetic is the test.
void told(void *address, unsigned what) {
    settle(0);
    unsigned kind = what >> 8, bytes = what & 255;
    if (what == 9 << 8) return; // what follows is not seen: a note, by its number
    int accesses = kind <= 4 || (kind >= 10 && kind <= 12);
    if (kind < 1 || (kind > 6 && !accesses) || accesses != (bytes > 0) || accesses != (address != 0)) printf("told %x\n", what), exit(1);
    if (kind == 12) kinds[1]++, kinds[2]++; // reads and then writes
    else kinds[kind]++;
}
__asm__(".globl __membar_asm\n__membar_asm:\n"
        "pushfq\npushq %rax\npushq %rcx\npushq %rdx\npushq %rsi\npushq %rdi\npushq %r8\npushq %r9\npushq %r10\npushq %r11\n"
        "pushq %rbp\nmovq %rsp, %rbp\nsubq $528, %rsp\nandq $-64, %rsp\nfxsave64 (%rsp)\ncld\ncall told\n"
        "xorl %eax, %eax\nfxrstor64 (%rsp)\nmovq %rbp, %rsp\npopq %rbp\n"
        "popq %r11\npopq %r10\npopq %r9\npopq %r8\npopq %rdi\npopq %rsi\npopq %rdx\npopq %rcx\npopq %rax\npopfq\nret\n");

void report(void) {
    printf("early %ld plain %ld kinds", early_writes, plain_writes);
    for (int kind = 1; kind < 7; kind++) printf(" %ld", kinds[kind]);
    printf(" updates %ld\n", updates);
}

// Fills with what was never there.
void fill(unsigned char *p, size_t n) {
    static unsigned tick;
    tick++;
    for (size_t i = 0; i < n; i++) p[i] = i < 3 ? tick >> 8 * i : tick * i;
}
