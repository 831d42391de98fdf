// Inline assembly whose results show whether the calls that are put before it change anything.
#include <stdio.h>
void report(void);
int x, y;
long z;
unsigned long long w;
unsigned char b;

static inline int exchange(int *p, int v) { __asm__ volatile("xchgl %0,%1" : "+r"(v), "+m"(*p) : : "memory"); return v; }
static inline int add(int *p, int v) { __asm__ volatile("lock; xaddl %0,%1" : "+r"(v), "+m"(*p) : : "memory", "cc"); return v; }
static inline long compare(long *p, long o, long n) {
    long r;
    __asm__ volatile("lock\n\tcmpxchgq %2,%1" : "=a"(r), "+m"(*p) : "r"(n), "0"(o) : "memory", "cc");
    return r;
}
static inline int to_zero(int *p) {
    unsigned char c;
    __asm__ volatile("lock incl %0 /* flags */; sete %1" : "+m"(*p), "=q"(c) : : "memory", "cc");
    return c;
}
// No frame of its own: the array is in the red zone.
__attribute__((noinline)) int leaf(int a) {
    int t[4] = {a, a + 1, a + 2, a + 3}, r;
    __asm__ volatile("movl %1,%0\n\tmfence\n\taddl %2,%0" : "=&r"(r) : "m"(t[1]), "m"(t[3]) : "memory");
    return r;
}

int main(void) {
    __asm__ volatile("mfence" ::: "memory");
    __asm__ volatile("lock; addl $0,-4(%%rsp)" ::: "memory", "cc");
    __asm__ volatile("sfence\n\tlfence\n\tpause\n\trep; nop" ::: "memory");
    __asm__ volatile("" ::: "memory");
    if (exchange(&x, 5) != 0 || x != 5) return 1;
    if (add(&x, 2) != 5 || x != 7) return 2;
    if (compare(&z, 0, 9) != 0 || z != 9 || compare(&z, 1, 2) != 9 || z != 9) return 3;
    y = -1;
    if (to_zero(&y) != 1 || y != 0) return 4;
    if (leaf(10) != 24) return 5;
    int carry;
    __asm__ volatile("stc\n\tmovl $3,%1\n\tsetc %b0\n\tmovzbl %b0,%0" : "=q"(carry), "=m"(y));
    if (carry != 1 || y != 3) return 6;
    __asm__ volatile("btsl $4,%0; addq $1,%1" : "+m"(x), "+m"(z) : : "cc");
    if (x != (7 | 16) || z != 10) return 7;
    __asm__ volatile("1: decl %0; jnz 1b" : "+m"(y) : : "cc");
    if (y) return 8;
    double d = 2.5, e;
    __asm__ volatile("movsd %1,%%xmm3\n\tmovsd %%xmm3,%0" : "=m"(e) : "m"(d) : "xmm3");
    if (e != 2.5) return 9;
    unsigned low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));                                         // line 50
    __asm__ volatile("movq %%fs:0,%0" : "=r"(w));                                              // line 51
    unsigned char *from = &b, *to = &b; long count = 1;
    __asm__ volatile("repe cmpsb" : "+S"(from), "+D"(to), "+c"(count) : : "memory", "cc");     // line 53
    to = &b, count = 1;
    __asm__ volatile("cld; rep stosb" : "+D"(to), "+c"(count) : "a"(7) : "memory");
    if (b != 7 || to != &b + 1 || count) return 10;
    report();
    return 0;
}
