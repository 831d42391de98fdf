// Copies of structs in all forms, and stores of scalars between them. `fill` makes each write a change.
#include <stddef.h>
void fill(void *, size_t);
void report(void);
void other(void) {}

struct Two { long a, b; };
struct Odd { int a; char c[9]; };
struct Nest { struct Two two; struct Odd odd; long z[6]; };
struct __attribute__((packed)) Packed { char t; long a; int b; };
struct Small { int a; };
struct Big { char c[700]; };
struct Huge { char c[40000]; };

#define COPIES(T) \
    struct T one##T, two##T, many##T[5], *p##T = &many##T[4]; \
    __thread struct T local##T; \
    __attribute__((noinline)) void copy##T(struct T *p, struct T *q, int i) { \
        struct T frame, *address = &frame; \
        fill(&two##T, sizeof(struct T)); one##T = two##T; \
        fill(q, sizeof *q); *p = *q; \
        fill(&many##T[i + 1], sizeof *q); many##T[i] = many##T[i + 1]; \
        fill(&local##T, sizeof *q); one##T = local##T; \
        fill(p, sizeof *p); local##T = *p; \
        fill(&one##T, sizeof *q); fill(address, sizeof *q); *address = one##T; \
        other(); \
        fill(address, sizeof *q); *p##T = *address; \
        if (i & 1) { fill(p, sizeof *p); *q = *p; } \
        fill(q, sizeof *q); many##T[(i + 2) & 3] = *(i & 1 ? p : q); \
    }
COPIES(Two) COPIES(Odd) COPIES(Nest) COPIES(Packed) COPIES(Small) COPIES(Big) COPIES(Huge)

int i, n = 1;
long l;
char c;
double d;
short s[4];
struct { unsigned a : 3, b : 7, c : 20; } bits;
long double ld;
__thread int t;

__attribute__((noinline)) void scalars(long *p, struct Two *two, struct Nest *nest) {
    i = i + 1; l = l + i; *p += 3; c++; d += i; s[i & 3] += 1; bits.b++; bits.c += 3; ld += 1; t++;
    two->a = two->a + l; two->b = two->a + 1; nest->two.a = nest->two.a + l; nest->z[i & 3] += two->b;
}

__attribute__((noinline)) struct Two make(void) { n += 7; struct Two two = {n, n + 1}; return two; }

int main(void) {
    long on_stack;
    fill(&on_stack, sizeof on_stack);
    for (int k = 0; k < 4; k++) {
        copyTwo(&oneTwo, &manyTwo[0], k & 1); copyOdd(&oneOdd, &manyOdd[0], k & 1); copyNest(&oneNest, &manyNest[0], k & 1);
        copyPacked(&onePacked, &manyPacked[0], k & 1); copySmall(&oneSmall, &manySmall[0], k & 1);
        copyBig(&oneBig, &manyBig[0], k & 1); copyHuge(&oneHuge, &manyHuge[0], k & 1);
        scalars(&on_stack, &oneTwo, &oneNest);
        oneTwo = make();
        *pTwo = make();
    }
    report();
    return 0;
}
