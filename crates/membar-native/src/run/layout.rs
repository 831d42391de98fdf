//! Where everything is in the address space of the process that runs a program.
//!
//! The same addresses in every process: what a program does with its pointers (hash them, compare them, print them) is then
//! the same in every execution, in every worker, and from one day to the next.

/// The table of intercepted functions and the registers of their callers, below 2 GiB so that the stubs reach it with
/// one instruction.
pub const TABLE: usize = 0x1000_0000;
/// Where the stubs leave the caller's registers: `rsp` (which points to the return address), `rbx`, `rbp`, `r12`, `r13`,
/// `r14`, `r15`. The word after them is 0.
pub const REGS: usize = TABLE + 0x8000;
/// Bytes of both.
pub const TABLE_LEN: usize = 0x9000;

/// Everything of the program that its own object does not hold: control blocks, thread-locals, stacks, heap.
pub const ARENA: usize = 0x1000_0000_0000;
/// Control blocks, one per thread.
pub const CONTROL: usize = ARENA;
/// Bytes of a control block.
pub const CONTROL_SIZE: usize = 64;
/// Thread-local variables, one block per thread.
pub const TLS: usize = ARENA + 0x1_0000;
/// The most bytes of thread-local variables.
pub const TLS_SIZE: usize = 0x4_0000;
/// Cells of the queues of futexes, 8 bytes each.
pub const FUTEXES: usize = STACKS - 0x1000;
/// How many there are.
pub const FUTEX_CELLS: usize = 64;
/// Stacks, one per thread, guarded at the lower end.
pub const STACKS: usize = ARENA + 0x1000_0000;
/// Bytes of a stack, with what guards it.
pub const STACK_SIZE: usize = (8 << 20) + GUARD;
/// The guard at the lower end, which nobody may touch: larger than most frames, which may begin below the stack right away.
pub const GUARD: usize = 1 << 20;
/// Heaps, one per thread: what a thread's `malloc` returns depends on nothing but what that thread did before.
pub const HEAPS: usize = ARENA + 0xc000_0000;
/// Bytes of a heap.
pub const HEAP_SIZE: usize = 64 << 20;
/// Bytes of the whole.
pub const ARENA_LEN: usize = HEAPS - ARENA + MAX_THREADS * HEAP_SIZE;
// Each part ends before the next one.
const _: () = assert!(control(MAX_THREADS) <= TLS && TLS + MAX_THREADS * TLS_SIZE <= STACKS);
const _: () =
    assert!(stack_base(MAX_THREADS - 1) <= HEAPS && ARENA + ARENA_LEN <= SHADOW && SHADOW + 4 * ARENA_LEN <= LIFE);

/// One word for each byte of the arena: see [`super::shadow`].
pub const SHADOW: usize = 0x2000_0000_0000;
/// One byte for 16 bytes of heap: see [`super::heap`].
pub const LIFE: usize = 0x3000_0000_0000;
/// One word for each byte of the program's object.
pub const MODULE_SHADOW: usize = 0x3800_0000_0000;
/// One word for each byte of its libraries, one after the other.
pub const LIBRARY_SHADOW: usize = 0x3a00_0000_0000;

pub use membar_explore::MAX_THREADS;

/// The highest address of a thread's stack.
pub const fn stack_base(thread: usize) -> usize {
    STACKS + (thread + 1) * STACK_SIZE
}

/// The thread whose stack or thread-local variable an address is in.
#[inline]
pub fn owner(addr: usize) -> Option<usize> {
    let (stack, local) = (addr.wrapping_sub(STACKS), addr.wrapping_sub(TLS));
    if stack < MAX_THREADS * STACK_SIZE {
        return Some(stack / STACK_SIZE);
    }
    (local < MAX_THREADS * TLS_SIZE).then_some(local / TLS_SIZE)
}

/// The control block of a thread.
pub const fn control(thread: usize) -> usize {
    CONTROL + thread * CONTROL_SIZE
}

/// The layout of a control block: whether the thread has been started, has ended, and has been woken.
pub const STARTED: usize = 0;
/// Its stack and its thread-local variables no longer exist.
pub const GONE: usize = 20;
/// The bytes of stack that the program wanted it to have, if it said.
pub const STACK_WANTED: usize = 24;
/// Two words: whether somebody has joined or detached it, who, and where.
pub const FATE: usize = 8;
/// See [`STARTED`].
pub const ENDED: usize = 16;
/// See [`STARTED`].
pub const WOKEN: usize = 32;
/// In that of the first thread: the lock of atomic objects for which there are no instructions.
pub const LARGE_ATOMICS: usize = 48;
/// In that of the second thread: the word that a choice reads.
pub const CHOICE: usize = control(1) + 48;
// Words that belong to all threads are in that of the first too, which every reset and every snapshot restores.
/// The lock of atomic sections.
pub const SECTIONS: usize = control(0) + 36;
/// The lock of the list of handlers that are run at the end.
pub const HANDLERS: usize = control(0) + 52;
/// How often the environment has been changed.
pub const ENVIRONMENT: usize = control(0) + 4;
/// The states of the generators behind `rand` and `lrand48`, 8 bytes each.
pub const RANDOM: usize = control(0) + 40;
/// See [`RANDOM`].
pub const RANDOM_48: usize = control(0) + 56;
