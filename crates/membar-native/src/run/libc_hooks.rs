//! Functions of the C library that must be the same in every execution, or that membar has to see into.
//!
//! The heap is ours ([`super::heap`]). Functions that copy or compare memory announce what they read and write. Time stands
//! still but for what a thread itself sees pass; random numbers are each thread's own; both are the same in every
//! execution. What blocks on the world outside, or makes processes, is refused by name.

use super::access::{plain_within as plain, whole_range};
use super::fault;
use super::heap::BadFree;
use super::layout::{ARENA, ARENA_LEN, TLS, TLS_SIZE};
use super::module::text;
use super::registers::register;
use super::thread;
use super::world::world;
use membar_core::{AccessKind, Barrier};
use std::ffi::{c_char, c_double, c_int, c_long, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

// The heap.

fn allocate(size: usize, align: usize) -> usize {
    let w = world();
    let id = w.current;
    // SAFETY: the stack pointer of the stub's caller.
    let pc = unsafe { *(register(0) as *const usize) };
    let caller = if w.module.base == 0 { 0 } else { fault::walk(pc, register(2), id, 2).get(1).copied().unwrap_or(0) };
    w.threads[id].dirty = true;
    match w.heap.allocate(id, size, align, pc, caller) {
        Some(block) => block,
        None if size > isize::MAX as usize / 2 => 0,
        None if w.module.base == 0 => 0,
        None => fault::raise(format!(
            "limit: needs more heap than an execution may have ({} MiB in all, {} MiB a thread); see --memory",
            w.heap.limit >> 20,
            super::layout::HEAP_SIZE >> 20
        )),
    }
}

pub extern "C-unwind" fn malloc(size: usize) -> usize {
    allocate(size, 16)
}

pub extern "C-unwind" fn calloc(n: usize, size: usize) -> usize {
    let Some(size) = n.checked_mul(size) else { return 0 };
    let block = allocate(size, 16);
    if block != 0 {
        // SAFETY: a new block of that size.
        unsafe { std::ptr::write_bytes(block as *mut u8, 0, size) };
    }
    block
}

pub extern "C-unwind" fn free(pointer: usize) {
    if pointer == 0 {
        return;
    }
    let w = world();
    match w.heap.block(pointer) {
        Ok(block) if block.alive => {
            w.threads[w.current].dirty = true;
            if !w.alone {
                // Whoever accesses the block races with this.
                let id = w.current;
                w.shadow.claim(id, block.start, block.size);
                super::access::each(block.start, block.size, AccessKind::Store);
            }
            // Another thread may have freed it meanwhile.
            match world().heap.block(pointer) {
                Ok(block) if block.alive => world().heap.free(&block),
                _ => fault::raise(format!("frees {} twice", fault::block(&block))),
            }
        }
        Ok(block) => fault::raise(format!("frees {} twice", fault::block(&block))),
        Err(BadFree::NoBlock) => {
            let ours = pointer.wrapping_sub(ARENA) < ARENA_LEN || pointer.wrapping_sub(w.module.base) < w.module.len;
            if ours {
                fault::raise("frees something that is not the beginning of a block of the heap".into());
            }
            // SAFETY: from a function of the C library that allocates for its caller.
            unsafe { libc::free(pointer as *mut c_void) };
        }
    }
}

pub extern "C-unwind" fn realloc(pointer: usize, size: usize) -> usize {
    if pointer == 0 {
        return malloc(size);
    }
    if size == 0 {
        free(pointer);
        return 0;
    }
    let old = match world().heap.block(pointer) {
        Ok(block) => block.size,
        // SAFETY: as in `free`.
        Err(_) => unsafe { libc::malloc_usable_size(pointer as *mut c_void) },
    };
    let block = allocate(size, 16);
    if block != 0 {
        memcpy(block, pointer, old.min(size));
        free(pointer);
    }
    block
}

pub extern "C-unwind" fn reallocarray(pointer: usize, n: usize, size: usize) -> usize {
    n.checked_mul(size).map_or(0, |size| realloc(pointer, size))
}

pub extern "C-unwind" fn aligned_alloc(align: usize, size: usize) -> usize {
    if align.is_power_of_two() && align <= 1 << 20 { allocate(size, align) } else { 0 }
}

pub extern "C-unwind" fn posix_memalign(out: *mut usize, align: usize, size: usize) -> c_int {
    if !align.is_power_of_two() || align > 1 << 20 {
        return libc::EINVAL;
    }
    let block = allocate(size, align);
    plain(out as usize, 8, true);
    // SAFETY: the program's own variable.
    unsafe { *out = block };
    0
}

pub extern "C-unwind" fn valloc(size: usize) -> usize {
    allocate(size, 4096)
}

pub extern "C-unwind" fn usable_size(pointer: usize) -> usize {
    world().heap.block(pointer).map_or(0, |block| block.size)
}

pub extern "C-unwind" fn new_aligned(size: usize, align: usize) -> usize {
    allocate(size, align)
}

pub extern "C-unwind" fn mmap(addr: usize, len: usize, _: c_int, flags: c_int, _: c_int, _: c_long) -> usize {
    if addr != 0 || flags & libc::MAP_ANONYMOUS == 0 {
        fault::raise("limit: calls `mmap` for something else than new memory, which membar does not run".into());
    }
    let block = allocate(len, 4096);
    // SAFETY: a new block of that size.
    unsafe { std::ptr::write_bytes(block as *mut u8, 0, len) };
    block
}

pub extern "C-unwind" fn munmap(addr: usize, _: usize) -> c_int {
    free(addr);
    0
}

// Memory and strings.

pub extern "C-unwind" fn memcpy(to: usize, from: usize, n: usize) -> usize {
    copy(to, from, n, false);
    to
}

fn copy(to: usize, from: usize, n: usize, backwards: bool) {
    if world().alone {
        whole_range(from, n, false);
        whole_range(to, n, true);
        // SAFETY: what the program asked for.
        return unsafe { std::ptr::copy(from as *const u8, to as *mut u8, n) };
    }
    // Piece by piece, cut where the target is aligned.
    let mut done = 0;
    while done < n {
        let (at, size) = if backwards {
            let end = n - done;
            let size = match (to + end) % 8 {
                0 => 8,
                rest => rest,
            };
            let size = size.min(end);
            (end - size, size)
        } else {
            (done, (8 - (to + done) % 8).min(n - done))
        };
        let mut buffer = [0u8; 8];
        piece(from + at, size, false);
        // SAFETY: what the program asked for.
        unsafe { std::ptr::copy_nonoverlapping((from + at) as *const u8, buffer.as_mut_ptr(), size) };
        piece(to + at, size, true);
        unsafe { std::ptr::copy_nonoverlapping(buffer.as_ptr(), (to + at) as *mut u8, size) };
        done += size;
    }
}

fn piece(addr: usize, size: usize, write: bool) {
    if addr % 8 + size <= 8 { plain(addr, size, write) } else { whole_range(addr, size, write) }
}

pub extern "C-unwind" fn memmove(to: usize, from: usize, n: usize) -> usize {
    copy(to, from, n, to > from);
    to
}

pub extern "C-unwind" fn memset(to: usize, value: c_int, n: usize) -> usize {
    let mut at = to;
    if world().alone {
        whole_range(to, n, true);
        // SAFETY: what the program asked for.
        unsafe { std::ptr::write_bytes(to as *mut u8, value as u8, n) };
        return to;
    }
    while at < to + n {
        let size = (8 - at % 8).min(to + n - at);
        plain(at, size, true);
        // SAFETY: what the program asked for.
        unsafe { std::ptr::write_bytes(at as *mut u8, value as u8, size) };
        at += size;
    }
    to
}

pub extern "C-unwind" fn bzero(to: usize, n: usize) {
    memset(to, 0, n);
}

pub extern "C-unwind" fn memcmp(a: usize, b: usize, n: usize) -> c_int {
    let mut at = 0;
    while at < n {
        let size = (8 - (a + at) % 8).min(n - at);
        let (mut x, mut y) = ([0u8; 8], [0u8; 8]);
        for (from, buffer) in [(a + at, &mut x), (b + at, &mut y)] {
            piece(from, size, false);
            // SAFETY: what the program asked for.
            unsafe { std::ptr::copy_nonoverlapping(from as *const u8, buffer.as_mut_ptr(), size) };
        }
        if x != y {
            return x.cmp(&y) as c_int;
        }
        at += size;
    }
    0
}

/// The length of a string, or `most`: read byte by byte, where others may write it.
fn length(at: usize, most: usize) -> usize {
    if world().alone {
        // SAFETY: a string of the program.
        return unsafe { libc::strnlen(at as *const c_char, most) };
    }
    let mut n = 0;
    while n < most {
        plain(at + n, 1, false);
        // SAFETY: as above.
        if unsafe { *((at + n) as *const u8) } == 0 {
            break;
        }
        n += 1;
    }
    n
}

pub extern "C-unwind" fn strlen(at: usize) -> usize {
    length(at, usize::MAX)
}

pub extern "C-unwind" fn strnlen(at: usize, most: usize) -> usize {
    length(at, most)
}

pub extern "C-unwind" fn strcpy(to: usize, from: usize) -> usize {
    memcpy(to, from, length(from, usize::MAX) + 1)
}

pub extern "C-unwind" fn strncpy(to: usize, from: usize, n: usize) -> usize {
    let len = length(from, n);
    memcpy(to, from, len);
    memset(to + len, 0, n - len);
    to
}

pub extern "C-unwind" fn strcat(to: usize, from: usize) -> usize {
    strcpy(to + length(to, usize::MAX), from);
    to
}

pub extern "C-unwind" fn strncat(to: usize, from: usize, n: usize) -> usize {
    let (end, len) = (to + strlen(to), length(from, n));
    memcpy(end, from, len);
    memset(end + len, 0, 1);
    to
}

pub extern "C-unwind" fn stpcpy(to: usize, from: usize) -> usize {
    let len = length(from, usize::MAX);
    memcpy(to, from, len + 1);
    to + len
}

pub extern "C-unwind" fn stpncpy(to: usize, from: usize, n: usize) -> usize {
    let len = length(from, n);
    strncpy(to, from, n);
    to + len
}

pub extern "C-unwind" fn strchr(at: usize, byte: c_int) -> usize {
    let from = at;
    let find = || unsafe { libc::strchr(from as *const c_char, byte) } as usize;
    let end = |found: usize| if found == 0 { length(from, usize::MAX) } else { found - from };
    whole_range(from, end(find()) + 1, false);
    find()
}

pub extern "C-unwind" fn strchrnul(at: usize, byte: c_int) -> usize {
    match strchr(at, byte) {
        0 => at + length(at, usize::MAX),
        found => found,
    }
}

pub extern "C-unwind" fn strrchr(at: usize, byte: c_int) -> usize {
    strlen(at);
    // SAFETY: a string of the program.
    unsafe { libc::strrchr(at as *const c_char, byte) as usize }
}

pub extern "C-unwind" fn memchr(at: usize, byte: c_int, n: usize) -> usize {
    // SAFETY: what the program asked for.
    let find = || unsafe { libc::memchr(at as *const c_void, byte, n) } as usize;
    let found = find();
    whole_range(at, if found == 0 { n } else { found - at + 1 }, false);
    find()
}

pub extern "C-unwind" fn memrchr(at: usize, byte: c_int, n: usize) -> usize {
    whole_range(at, n, false);
    // SAFETY: what the program asked for.
    unsafe { libc::memrchr(at as *const c_void, byte, n) as usize }
}

pub extern "C-unwind" fn rawmemchr(at: usize, byte: c_int) -> usize {
    memchr(at, byte, usize::MAX / 2)
}

pub extern "C-unwind" fn mempcpy(to: usize, from: usize, n: usize) -> usize {
    memcpy(to, from, n) + n
}

pub extern "C-unwind" fn bcopy(from: usize, to: usize, n: usize) {
    memmove(to, from, n);
}

pub extern "C-unwind" fn strcmp(a: usize, b: usize) -> c_int {
    memcmp(a, b, length(a, usize::MAX).min(length(b, usize::MAX)) + 1)
}

pub extern "C-unwind" fn strncmp(a: usize, b: usize, n: usize) -> c_int {
    memcmp(a, b, (length(a, n).min(length(b, n)) + 1).min(n))
}

pub extern "C-unwind" fn strdup(from: usize) -> usize {
    strndup(from, usize::MAX - 1)
}

pub extern "C-unwind" fn strndup(from: usize, n: usize) -> usize {
    let len = length(from, n);
    let block = allocate(len + 1, 16);
    memcpy(block, from, len);
    memset(block + len, 0, 1);
    block
}

// The environment.

/// What it was, once the program has changed it: the list, and what it held.
static ENVIRONMENT: Mutex<Option<(usize, Vec<usize>)>> = Mutex::new(None);
static CHANGED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    static mut environ: *mut usize;
}

fn keep_environment() {
    CHANGED.store(true, Ordering::Relaxed);
    let mut kept = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.get_or_insert_with(|| {
        let mut entries = Vec::new();
        // SAFETY: the C library's own list, which ends with a null pointer.
        unsafe {
            let list = environ;
            while !list.is_null() && entries.last() != Some(&0) {
                entries.push(*list.add(entries.len()));
            }
            (list as usize, entries)
        }
    });
}

/// Puts the environment back.
#[inline]
pub fn restore_environment() {
    if CHANGED.load(Ordering::Relaxed) {
        CHANGED.store(false, Ordering::Relaxed);
        if let Some((list, entries)) = &*ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner) {
            // SAFETY: the list is as long as it was; the C library changes it in place or makes another one.
            unsafe {
                std::ptr::copy_nonoverlapping(entries.as_ptr(), *list as *mut usize, entries.len());
                environ = *list as *mut usize;
            }
        }
    }
}

pub extern "C-unwind" fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int {
    keep_environment();
    // SAFETY: what the program asked for.
    unsafe { libc::setenv(name, value, overwrite) }
}

pub extern "C-unwind" fn putenv(text: *mut c_char) -> c_int {
    keep_environment();
    // SAFETY: what the program asked for.
    unsafe { libc::putenv(text) }
}

pub extern "C-unwind" fn unsetenv(name: *const c_char) -> c_int {
    keep_environment();
    // SAFETY: what the program asked for.
    unsafe { libc::unsetenv(name) }
}

pub extern "C-unwind" fn clearenv() -> c_int {
    keep_environment();
    // SAFETY: what the program asked for.
    unsafe { libc::clearenv() }
}

// The end.

pub extern "C-unwind" fn exit(status: c_int) -> ! {
    thread::exit(status);
    over()
}

pub extern "C-unwind" fn exit_at_once(status: c_int) -> ! {
    world().exit_handlers.clear();
    thread::exit(status);
    over()
}

fn over() -> ! {
    let w = world();
    let id = w.current;
    w.over = true;
    w.threads[id].stand = super::slot::Stand::Done;
    loop {
        world().threads[id].suspend();
    }
}

pub extern "C-unwind" fn abort() -> ! {
    fault::raise("aborts".into())
}

pub extern "C-unwind" fn assert_fail(expr: *const c_char, file: *const c_char, line: u32, _: *const c_char) -> ! {
    fault::raise(format!("assertion `{}` fails ({}:{line})", text(expr), text(file)))
}

pub extern "C-unwind" fn stack_smashed() -> ! {
    fault::raise("writes beyond a variable on its stack (stack smashing)".into())
}

pub extern "C-unwind" fn at_exit(function: usize, argument: usize, _: usize) -> c_int {
    world().exit_handlers.push((function, argument));
    0
}

pub extern "C-unwind" fn at_exit_plain(function: usize) -> c_int {
    at_exit(function, 0, 0)
}

pub extern "C-unwind" fn at_thread_exit(function: usize, object: usize, _: usize) -> c_int {
    let w = world();
    let id = w.current;
    w.threads[id].dtors.push((function, object));
    0
}

// Thread-local variables.

#[repr(C)]
pub struct TlsIndex {
    module: usize,
    offset: usize,
}

unsafe extern "C" {
    fn __tls_get_addr(index: *const TlsIndex) -> *mut c_void;
}

pub extern "C-unwind" fn tls_get_addr(index: *const TlsIndex) -> usize {
    // SAFETY: the compiler's own table.
    let TlsIndex { module, offset } = unsafe { index.read() };
    let w = world();
    if w.module.base == 0 || !w.module.is_own_tls(module) {
        // SAFETY: the real function, for the thread of the operating system.
        return unsafe { __tls_get_addr(index) } as usize;
    }
    TLS + w.current * TLS_SIZE + offset
}

// Time: a thread sees a millisecond pass each time it looks.

const EPOCH: u64 = 1_000_000_000;

fn now() -> (u64, u64) {
    let w = world();
    let id = w.current;
    let thread = &mut w.threads[id];
    thread.clock += 1_000_000;
    thread.dirty = true;
    (EPOCH + thread.clock / 1_000_000_000, thread.clock % 1_000_000_000)
}

pub extern "C-unwind" fn time(out: *mut c_long) -> c_long {
    let seconds = now().0 as c_long;
    if !out.is_null() {
        plain(out as usize, 8, true);
        // SAFETY: the program's own variable.
        unsafe { *out = seconds };
    }
    seconds
}

pub extern "C-unwind" fn clock_gettime(_: c_int, out: *mut [u64; 2]) -> c_int {
    let (seconds, nanos) = now();
    plain(out as usize, 16, true);
    // SAFETY: the program's own variable.
    unsafe { *out = [seconds, nanos] };
    0
}

pub extern "C-unwind" fn timespec_get(out: *mut [u64; 2], base: c_int) -> c_int {
    clock_gettime(0, out);
    base
}

pub extern "C-unwind" fn gettimeofday(out: *mut [u64; 2], _: usize) -> c_int {
    let (seconds, nanos) = now();
    plain(out as usize, 16, true);
    // SAFETY: the program's own variable.
    unsafe { *out = [seconds, nanos / 1000] };
    0
}

pub extern "C-unwind" fn clock() -> c_long {
    let (seconds, nanos) = now();
    ((seconds - EPOCH) * 1_000_000 + nanos / 1000) as c_long
}

pub extern "C-unwind" fn rest() -> c_int {
    0
}

/// One that waits for nothing but time is a way to sleep.
pub extern "C-unwind" fn poll(_: usize, files: usize, timeout: c_int) -> c_int {
    if files == 0 && timeout >= 0 { rest() } else { refuse("poll") }
}

pub extern "C-unwind" fn ppoll(_: usize, files: usize, timeout: usize) -> c_int {
    if files == 0 && timeout != 0 { rest() } else { refuse("ppoll") }
}

pub extern "C-unwind" fn select(files: c_int, _: usize, _: usize, _: usize, timeout: usize) -> c_int {
    if files == 0 && timeout != 0 { rest() } else { refuse("select") }
}

// Random numbers.

fn random_bits() -> u64 {
    let w = world();
    let id = w.current;
    let thread = &mut w.threads[id];
    thread.dirty = true;
    thread.random = thread.random.wrapping_add(0x9e37_79b9_7f4a_7c15 + id as u64);
    let mut x = thread.random;
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

pub extern "C-unwind" fn rand() -> c_int {
    (random_bits() >> 33) as c_int
}

pub extern "C-unwind" fn random() -> c_long {
    (random_bits() >> 33) as c_long
}

pub extern "C-unwind" fn mrand48() -> c_long {
    c_long::from(random_bits() as i32)
}

pub extern "C-unwind" fn drand48() -> c_double {
    (random_bits() >> 11) as f64 / (1u64 << 53) as f64
}

pub extern "C-unwind" fn srand(seed: u32) {
    let w = world();
    let id = w.current;
    w.threads[id].random = u64::from(seed);
}

pub extern "C-unwind" fn arc4random() -> u32 {
    random_bits() as u32
}

pub extern "C-unwind" fn getrandom(to: usize, n: usize, _: u32) -> isize {
    for at in to..to + n {
        memset(at, random_bits() as c_int, 1);
    }
    n as isize
}

pub extern "C-unwind" fn getentropy(to: usize, n: usize) -> c_int {
    getrandom(to, n, 0);
    0
}

// What the system is asked for.

pub extern "C-unwind" fn gettid() -> c_int {
    1000 + world().current as c_int
}

pub extern "C-unwind" fn zero() -> c_int {
    0
}

/// Only what needs nobody else: who am I, yield, and barriers on all processors.
pub extern "C-unwind" fn syscall(number: c_long, a: usize, b: usize, c: usize) -> c_long {
    match number {
        libc::SYS_gettid => c_long::from(gettid()),
        libc::SYS_sched_yield => 0,
        // Which commands there are: none, as on an older kernel.
        libc::SYS_membarrier if a == 0 => 0,
        libc::SYS_membarrier => {
            super::tsan::barrier(Barrier::Full);
            fault::raise("limit: calls `membarrier`, which membar does not run: it orders other threads too".into())
        }
        libc::SYS_futex => c_long::from(super::sync::futex(a, b as c_int, c as u32)),
        other => fault::raise(format!("limit: makes system call {other}, which membar does not run")),
    }
}

pub const REFUSED: &[&str] = &[
    "fork",
    "vfork",
    "execv",
    "execve",
    "execvp",
    "execl",
    "execlp",
    "posix_spawn",
    "posix_spawnp",
    "system",
    "popen",
    "wait",
    "waitpid",
    "kill",
    "raise",
    "signal",
    "sigaction",
    "sigwait",
    "sigwaitinfo",
    "sigsuspend",
    "pause",
    "alarm",
    "setitimer",
    "timer_create",
    "pthread_kill",
    "pthread_cancel",
    "pthread_tryjoin_np",
    "pthread_timedjoin_np",
    "socket",
    "connect",
    "accept",
    "recv",
    "epoll_wait",
    "epoll_create1",
    "pipe",
    "eventfd",
    "sem_open",
    "shm_open",
    "mq_open",
    "msgget",
    "semget",
    "dlopen",
    "pthread_mutexattr_setpshared",
    "aio_read",
    "swapcontext",
    "makecontext",
];

pub extern "C-unwind" fn refused<const I: usize>() -> c_int {
    refuse(REFUSED[I])
}

fn refuse(name: &str) -> ! {
    fault::raise(format!("limit: calls `{name}`, which membar does not run"))
}
