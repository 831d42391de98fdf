/*
 * A random program with data races, and what prints its runs as traces.
 * Written by: @COMMAND@
 *
 *     cc -O2 -pthread FILE.c -o test
 *     ./test 1000 | membar check -             (x86-64; on others: membar check --model wmo -)
 *
 * ./test RUNS: how many runs (1 if not given). Each prints one trace in the text format, ending with `check`.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t u64;

#define THREADS @THREADS@
#define ADDRESSES @ADDRESSES@
#define STRIDE @STRIDE@
#define LOCKS @LOCKS@

static unsigned char memory[(size_t)ADDRESSES * STRIDE + 8] __attribute__((aligned(4096)));
static struct { u64 held; char apart[120]; } locks[LOCKS] __attribute__((aligned(128)));

#define CELL(addr) ((u64 *)(memory + (size_t)(addr) * STRIDE))

/* One instruction each: the compiler can neither reorder nor merge them. */

#if defined(__x86_64__)

static inline u64 load(u64 *cell)
{
	u64 value;
	__asm__ volatile("movq %1, %0" : "=r"(value) : "m"(*cell) : "memory");
	return value;
}

static inline void store(u64 *cell, u64 value)
{
	__asm__ volatile("movq %1, %0" : "=m"(*cell) : "r"(value) : "memory");
}

static inline u64 exchange(u64 *cell, u64 value)
{
	__asm__ volatile("xchgq %0, %1" : "+r"(value), "+m"(*cell) : : "memory");
	return value;
}

static inline u64 add(u64 *cell, u64 by)
{
	__asm__ volatile("lock xaddq %0, %1" : "+r"(by), "+m"(*cell) : : "memory", "cc");
	return by;
}

static inline u64 cas(u64 *cell, u64 expected, u64 value)
{
	__asm__ volatile("lock cmpxchgq %2, %1" : "+a"(expected), "+m"(*cell) : "r"(value) : "memory", "cc");
	return expected;
}

static inline void barrier(void) { __asm__ volatile("mfence" : : : "memory"); }
static inline void store_barrier(void) { __asm__ volatile("sfence" : : : "memory"); }
static inline void relax(void) { __asm__ volatile("pause" : : : "memory"); }

#elif defined(__aarch64__)

static inline u64 load(u64 *cell)
{
	u64 value;
	__asm__ volatile("ldr %0, [%1]" : "=r"(value) : "r"(cell) : "memory");
	return value;
}

static inline void store(u64 *cell, u64 value)
{
	__asm__ volatile("str %0, [%1]" : : "r"(value), "r"(cell) : "memory");
}

static inline u64 exchange(u64 *cell, u64 value)
{
	u64 old;
	uint32_t failed;
	__asm__ volatile("1: ldxr %0, [%2]\n\tstxr %w1, %3, [%2]\n\tcbnz %w1, 1b"
			 : "=&r"(old), "=&r"(failed) : "r"(cell), "r"(value) : "memory");
	return old;
}

static inline u64 add(u64 *cell, u64 by)
{
	u64 old, sum;
	uint32_t failed;
	__asm__ volatile("1: ldxr %0, [%3]\n\tadd %1, %0, %4\n\tstxr %w2, %1, [%3]\n\tcbnz %w2, 1b"
			 : "=&r"(old), "=&r"(sum), "=&r"(failed) : "r"(cell), "r"(by) : "memory");
	return old;
}

static inline u64 cas(u64 *cell, u64 expected, u64 value)
{
	u64 old;
	uint32_t failed;
	__asm__ volatile("1: ldxr %0, [%2]\n\tcmp %0, %3\n\tb.ne 2f\n\tstxr %w1, %4, [%2]\n\tcbnz %w1, 1b\n2:"
			 : "=&r"(old), "=&r"(failed) : "r"(cell), "r"(expected), "r"(value) : "memory", "cc");
	return old;
}

static inline void barrier(void) { __asm__ volatile("dmb ish" : : : "memory"); }
static inline void store_barrier(void) { __asm__ volatile("dmb ishst" : : : "memory"); }
static inline void relax(void) { __asm__ volatile("yield" : : : "memory"); }

#elif defined(__riscv) && __riscv_xlen == 64

static inline u64 load(u64 *cell)
{
	u64 value;
	__asm__ volatile("ld %0, 0(%1)" : "=r"(value) : "r"(cell) : "memory");
	return value;
}

static inline void store(u64 *cell, u64 value)
{
	__asm__ volatile("sd %0, 0(%1)" : : "r"(value), "r"(cell) : "memory");
}

static inline u64 exchange(u64 *cell, u64 value)
{
	u64 old;
	__asm__ volatile("amoswap.d %0, %2, (%1)" : "=&r"(old) : "r"(cell), "r"(value) : "memory");
	return old;
}

static inline u64 add(u64 *cell, u64 by)
{
	u64 old;
	__asm__ volatile("amoadd.d %0, %2, (%1)" : "=&r"(old) : "r"(cell), "r"(by) : "memory");
	return old;
}

static inline u64 cas(u64 *cell, u64 expected, u64 value)
{
	u64 old, failed;
	__asm__ volatile("1: lr.d %0, (%2)\n\tbne %0, %3, 2f\n\tsc.d %1, %4, (%2)\n\tbnez %1, 1b\n2:"
			 : "=&r"(old), "=&r"(failed) : "r"(cell), "r"(expected), "r"(value) : "memory");
	return old;
}

static inline void barrier(void) { __asm__ volatile("fence rw, rw" : : : "memory"); }
static inline void store_barrier(void) { __asm__ volatile("fence w, w" : : : "memory"); }
static inline void relax(void) { __asm__ volatile("nop" : : : "memory"); }

#else
#error "this processor is not known: add load, store, exchange, add, cas and the barriers for it above"
#endif

static void pause_for(unsigned cycles)
{
	for (unsigned i = 0; i < cycles / 16 + 1; i++)
		relax();
}

/* Where threads outnumber cores, one that waits lets others run. */
static inline void wait_a_moment(unsigned *times)
{
	relax();
	if (++*times % 256 == 0)
		sched_yield();
}

static void acquire(u64 *lock)
{
	unsigned times = 0;
	while (exchange(lock, 1) != 0)
		while (load(lock) != 0)
			wait_a_moment(&times);
	barrier();
}

static void release(u64 *lock)
{
	barrier();
	store(lock, 0);
	barrier();
}

/* The threads. `log` is where a thread notes what it read. */

static inline void unused(void) { (void)add; (void)cas; (void)store_barrier; (void)acquire; (void)release; (void)pause_for; }

@BODIES@

/* The same as a table, for printing. */

enum { LOAD, STORE, EXCHANGE, ADD, CAS, SYNC, MEMBAR, ACQUIRE, RELEASE };

static const struct { int kind; uint32_t addr; u64 value; } table[] = {
@TABLE@
};
static const size_t starts[THREADS + 1] = { @STARTS@ };
static const size_t words[THREADS] = { @WORDS@ };
static const u64 initial[ADDRESSES] = { @INITIAL@ };
static const struct { u64 bit; const char *name; } masks[] = { @MASKS@ };
static void (*const bodies[THREADS])(u64 *) = { @NAMES@ };
static u64 *logs[THREADS];

static void print(void)
{
	for (int t = 0; t < THREADS; t++) {
		const u64 *log = logs[t];
		for (size_t i = starts[t]; i < starts[t + 1]; i++) {
			unsigned a = table[i].addr;
			unsigned long long value = table[i].value, read;
			switch (table[i].kind) {
			case LOAD:
				printf("%d: M[%u] == %llu\n", t, a, (unsigned long long)*log++);
				break;
			case STORE:
				printf("%d: M[%u] := %llu\n", t, a, value);
				break;
			case EXCHANGE:
				printf("%d: { M[%u] == %llu; M[%u] := %llu }\n", t, a, (unsigned long long)*log++, a, value);
				break;
			case ADD:
				read = *log++;
				printf("%d: { M[%u] == %llu; M[%u] := %llu }\n", t, a, read, a, read + value);
				break;
			case CAS:
				read = log[0];
				if (read == log[1])
					printf("%d: { M[%u] == %llu; M[%u] := %llu }\n", t, a, read, a, value);
				else
					printf("%d: M[%u] == %llu\n", t, a, read);
				log += 2;
				break;
			case SYNC:
				printf("%d: sync\n", t);
				break;
			case MEMBAR: {
				const char *before = " ";
				printf("%d: membar", t);
				for (size_t m = 0; m < sizeof masks / sizeof *masks; m++)
					if (value & masks[m].bit) {
						printf("%s%s", before, masks[m].name);
						before = "|";
					}
				printf("\n");
				break;
			}
			case ACQUIRE:
				printf("%d: acq L%u\n", t, a);
				break;
			case RELEASE:
				printf("%d: rel L%u\n", t, a);
				break;
			}
		}
	}
	for (int a = 0; a < ADDRESSES; a++)
		if (initial[a] != 0)
			printf("init M[%d] == %llu\n", a, (unsigned long long)initial[a]);
	printf("check\n");
}

/* Everybody waits for everybody; the count only grows. */
static u64 arrived;

static void meet(u64 round)
{
	unsigned times = 0;
	barrier();
	__atomic_fetch_add(&arrived, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST) < round * (THREADS + 1))
		wait_a_moment(&times);
	barrier();
}

static u64 runs = 1;

static void *run(void *which)
{
	int t = (int)(intptr_t)which;
	for (u64 i = 0; i < runs; i++) {
		meet(2 * i + 1);
		bodies[t](logs[t]);
		meet(2 * i + 2);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	if (argc > 1)
		runs = strtoull(argv[1], NULL, 10);
	unused();
	for (int t = 0; t < THREADS; t++) {
		/* A log shares no cache line with another. */
		size_t bytes = (words[t] * sizeof(u64) + 4095) / 4096 * 4096;
		if (posix_memalign((void **)&logs[t], 4096, bytes) != 0) {
			fprintf(stderr, "not enough memory\n");
			return 2;
		}
	}
	for (int t = 0; t < THREADS; t++)
		if (pthread_create(&threads[t], NULL, run, (void *)(intptr_t)t) != 0) {
			fprintf(stderr, "a thread cannot be started\n");
			return 2;
		}
	for (u64 i = 0; i < runs; i++) {
		for (int a = 0; a < ADDRESSES; a++)
			*CELL(a) = initial[a];
		for (int l = 0; l < LOCKS; l++)
			locks[l].held = 0;
		meet(2 * i + 1);
		meet(2 * i + 2);
		print();
	}
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	return fflush(stdout) != 0 || ferror(stdout) ? 2 : 0;
}
