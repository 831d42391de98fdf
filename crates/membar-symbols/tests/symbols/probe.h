// Prints what the test asks about, and the answer it expects. Offsets are relative to where the program is loaded.
#ifndef PROBE_H
#define PROBE_H
#include <stdio.h>
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
#ifdef __cplusplus
}
#endif

// Optimisation must not look into a function from outside, nor make copies of it.
#ifdef __clang__
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE __attribute__((noipa))
#endif

#define PC() ((size_t)__builtin_return_address(0) - (size_t)__ehdr_start)

static void OPAQUE __attribute__((unused)) probe_variable(const volatile void *at, size_t size, const char *want) {
    printf("variable %zu %zu %s\n", (size_t)at - (size_t)__ehdr_start, size, want);
}
static void OPAQUE __attribute__((unused)) probe_local(void *cfa, const volatile void *at, size_t size, const char *want) {
    printf("local %zu %zu %zu %zu %s\n", PC(), (size_t)cfa, (size_t)at, size, want);
}
static void OPAQUE __attribute__((unused)) probe_place(const char *want, int line) {
    printf("place %zu %d %s\n", PC(), line, want);
}

// The variable, or a part of it, as text: what the source says is what the report should say.
#define VARIABLE(x) probe_variable(&(x), sizeof(x), #x)
#define VARIABLE_AS(x, want) probe_variable(&(x), sizeof(x), want)
#define LOCAL(x, want) probe_local(__builtin_dwarf_cfa(), &(x), sizeof(x), want)
// A call that is the last thing a function does would be a jump.
#define PLACE(want) (probe_place(want, __LINE__), ({ __asm__ volatile(""); }))
// C++ lets the compiler leave out `new` if nobody looks.
#define ESCAPE(x) ({ __asm__ volatile("" : : "r"(x) : "memory"); })
// What a block holds that was allocated by the call that returned to `pc`.
#define HEAP(pc, block, at, x, want) \
    ESCAPE(at), printf("heap %zu %zu %zu %zu %s\n", (size_t)(pc), (size_t)(block), (size_t)&(x) - (size_t)(at), sizeof(x), want)
#endif
