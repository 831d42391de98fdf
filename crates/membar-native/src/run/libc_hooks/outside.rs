//! Time, random numbers, and what else the system is asked for: the same in every execution, or refused.
//!
//! Time: a thread sees a millisecond pass when it looks, and each time it looks again as much as had passed before, up to a year. So a
//! loop that waits for a deadline comes to it after a few looks. A thread that has looked for years, and goes on, looks at nothing but how time
//! passes: from then on time is not part of what it knows, and a loop that only looks is a waiting loop.
//!
//! A thread that sleeps, or waits until time is up, sees that much pass when it looks next; so does a thread that joins it. Until then its sleep is
//! not part of what it knows: a loop that only sleeps is a waiting loop.

use super::*;
use crate::run::access::Event;
use crate::run::layout::{RANDOM, RANDOM_48};
use crate::run::tsan::barrier;
use membar_core::{Barrier, Rng};
use std::ffi::CString;

const EPOCH: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;
const YEAR: u64 = 365 * 24 * 3_600_000 * MILLISECOND;

fn now() -> (u64, u64) {
    let w = world();
    let id = w.current;
    let thread = &mut w.threads[id];
    thread.dirty |= thread.clock < 4 * YEAR;
    let (slept, look) = (std::mem::take(&mut thread.slept), thread.clock.clamp(MILLISECOND, YEAR));
    thread.clock = thread.clock.saturating_add(look);
    thread.rested = thread.rested.saturating_add(slept.saturating_sub(look));
    let time = thread.time();
    (EPOCH + time / 1_000_000_000, time % 1_000_000_000)
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

/// Time passes for the thread that runs.
fn passes(nanos: u64) {
    let w = world();
    let thread = &mut w.threads[w.current];
    thread.slept = thread.slept.saturating_add(nanos);
}

/// A time as it is in memory, in nanoseconds; nothing if that is negative.
fn nanos(time: usize) -> u64 {
    // SAFETY: the program's own variable.
    let [seconds, nanos] = unsafe { (time as *const [i64; 2]).read_unaligned() };
    let part = |n: i64| u64::try_from(n).unwrap_or(0);
    part(seconds).saturating_mul(1_000_000_000).saturating_add(part(nanos))
}

/// It is at least that time for the thread that runs.
pub fn time_is_up(time: usize) {
    let w = world();
    let now = (EPOCH * 1_000_000_000).saturating_add(w.threads[w.current].time());
    passes(nanos(time).saturating_sub(now));
}

/// That much time has passed for the thread that runs.
pub fn time_has_passed(time: usize) {
    passes(nanos(time));
}

/// Reads how long to rest. Whether that is a time.
fn reads_time(time: usize) -> bool {
    whole_range(time, 16, false);
    // SAFETY: the program's own variable.
    let [seconds, nanos] = unsafe { (time as *const [i64; 2]).read_unaligned() };
    seconds >= 0 && (0..1_000_000_000).contains(&nanos)
}

/// How long is read, whatever becomes of it. The remaining time is written only on an interrupt.
pub extern "C-unwind" fn rest_for(time: usize) -> c_int {
    if !reads_time(time) {
        // SAFETY: the C library's own.
        unsafe { *libc::__errno_location() = libc::EINVAL };
        return -1;
    }
    time_has_passed(time);
    0
}

/// -1 would be an interrupt.
pub extern "C-unwind" fn thrd_sleep(time: usize) -> c_int {
    if !reads_time(time) {
        return -2;
    }
    time_has_passed(time);
    0
}

pub extern "C-unwind" fn rest_until(_: c_int, flags: c_int, time: usize) -> c_int {
    if !reads_time(time) {
        return libc::EINVAL;
    }
    if flags & libc::TIMER_ABSTIME == 0 {
        time_has_passed(time)
    } else {
        time_is_up(time)
    }
    0
}

pub extern "C-unwind" fn rest_seconds(seconds: u32) -> c_int {
    passes(u64::from(seconds) * 1_000_000_000);
    0
}

pub extern "C-unwind" fn rest_microseconds(micros: u32) -> c_int {
    passes(u64::from(micros) * 1000);
    0
}

/// One that waits for nothing but time is a way to sleep.
pub extern "C-unwind" fn poll(_: usize, files: usize, timeout: c_int) -> c_int {
    if files == 0 && timeout >= 0 { rest() } else { refuse("poll") }
}

pub extern "C-unwind" fn ppoll(_: usize, files: usize, timeout: usize) -> c_int {
    if files == 0 && timeout != 0 { rest_for(timeout) } else { refuse("ppoll") }
}

pub extern "C-unwind" fn select(files: c_int, _: usize, _: usize, _: usize, timeout: usize) -> c_int {
    if files == 0 && timeout != 0 { rest_for(timeout) } else { refuse("select") }
}

// Random numbers.

fn random_bits() -> u64 {
    let w = world();
    w.asks_who_it_is();
    let id = w.current;
    let thread = &mut w.threads[id];
    thread.dirty = true;
    thread.random.next()
}

/// The state of a generator that all threads share, for a step: the C library has a lock for each. Nobody else sees the state, so it may be
/// one of ours.
fn shared_state(at: usize) -> &'static mut u64 {
    Event::sync(at, 8).announce();
    barrier(Barrier::Full);
    world().this().dirty = true;
    // SAFETY: a word of a control block, which is mapped, and which nobody else uses until the next step.
    unsafe { &mut *(at as *mut u64) }
}

fn shared_bits(at: usize) -> u64 {
    let state = shared_state(at);
    let bits = Rng::new(*state).next();
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits
}

pub extern "C-unwind" fn rand() -> c_int {
    (shared_bits(RANDOM) >> 33) as c_int
}

pub extern "C-unwind" fn random() -> c_long {
    (shared_bits(RANDOM) >> 33) as c_long
}

pub extern "C-unwind" fn lrand48() -> c_long {
    (shared_bits(RANDOM_48) >> 33) as c_long
}

pub extern "C-unwind" fn mrand48() -> c_long {
    c_long::from(shared_bits(RANDOM_48) as i32)
}

pub extern "C-unwind" fn drand48() -> c_double {
    (shared_bits(RANDOM_48) >> 11) as f64 / (1u64 << 53) as f64
}

pub extern "C-unwind" fn srand(seed: u32) {
    *shared_state(RANDOM) = u64::from(seed) << 6;
}

pub extern "C-unwind" fn srand48(seed: c_long) {
    *shared_state(RANDOM_48) = (seed as u64) << 6;
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

// Information that a program asks the system for.

/// The number that the system would know a thread by. That of the first is the process's too.
pub fn thread_number(id: usize) -> c_int {
    1000 + id as c_int
}

pub extern "C-unwind" fn gettid() -> c_int {
    world().asks_who_it_is();
    thread_number(world().current)
}

pub extern "C-unwind" fn getpid() -> c_int {
    thread_number(0)
}

pub extern "C-unwind" fn getppid() -> c_int {
    1
}

pub extern "C-unwind" fn zero() -> c_int {
    0
}

/// Whether the thread that runs may be cancelled. Nobody cancels it, but a program may ask what it has said.
pub extern "C-unwind" fn cancel_state(state: c_int, old: usize) -> c_int {
    cancel(0, state, old)
}

/// When it may be cancelled.
pub extern "C-unwind" fn cancel_type(kind: c_int, old: usize) -> c_int {
    cancel(1, kind, old)
}

fn cancel(which: usize, value: c_int, old: usize) -> c_int {
    if !(0..=1).contains(&value) {
        return libc::EINVAL;
    }
    let thread = world().this();
    let before = std::mem::replace(&mut thread.cancel[which], value);
    thread.dirty |= before != value;
    if old != 0 {
        plain(old, 4, true);
        // SAFETY: the program's own variable.
        unsafe { *(old as *mut c_int) = before };
    }
    0
}

/// Which signals the thread that runs does not want. There are no signals, but a program may ask what it has said.
pub extern "C-unwind" fn thread_signal_mask(how: c_int, set: usize, old: usize) -> c_int {
    let id = world().current;
    let before = world().threads[id].mask;
    if set != 0 {
        plain(set, 8, false);
        // SAFETY: the program's own variable.
        let given = unsafe { *(set as *const u64) };
        let now = match how {
            libc::SIG_BLOCK => before | given,
            libc::SIG_UNBLOCK => before & !given,
            libc::SIG_SETMASK => given,
            _ => return libc::EINVAL,
        };
        world().threads[id].mask = now;
        world().threads[id].dirty |= now != before;
    }
    if old != 0 {
        plain(old, 8, true);
        // SAFETY: the program's own variable.
        unsafe { *(old as *mut u64) = before };
    }
    0
}

pub extern "C-unwind" fn signal_mask(how: c_int, set: usize, old: usize) -> c_int {
    match thread_signal_mask(how, set, old) {
        0 => 0,
        error => {
            // SAFETY: the C library's own.
            unsafe { *libc::__errno_location() = error };
            -1
        }
    }
}

/// The C++ library is about to read these bytes, to make a number of them.
pub extern "C-unwind" fn hash_bytes(at: usize, n: usize) {
    whole_range(at, n, false);
}

/// Signals by which a program is told to end, or that it has failed: a handler has no part in executions that do not fail.
const LAST: [c_int; 12] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGPIPE,
    libc::SIGABRT,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
];

/// Notes that a handler is set, which is never run; others than for [`LAST`] are refused.
fn set_handler(name: &str, signal: c_int, handler: usize) {
    if handler != libc::SIG_DFL && handler != libc::SIG_IGN {
        if !LAST.contains(&signal) {
            refuse(name);
        }
        let w = world();
        w.grown |= !w.handlers_set;
        w.handlers_set = true;
    }
}

/// `signal`: there was no handler before.
pub extern "C-unwind" fn signal(signal: c_int, handler: usize) -> usize {
    set_handler("signal", signal, handler);
    libc::SIG_DFL
}

/// `sigaction`: the same.
pub extern "C-unwind" fn sigaction(signal: c_int, action: usize, old: usize) -> c_int {
    let size = size_of::<libc::sigaction>();
    if action != 0 {
        whole_range(action, size, false);
        // SAFETY: the program's own variable, which it has named.
        set_handler("sigaction", signal, unsafe { (*(action as *const libc::sigaction)).sa_sigaction });
    }
    if old != 0 {
        whole_range(old, size, true);
        // SAFETY: as above.
        unsafe { std::ptr::write_bytes(old as *mut u8, 0, size) };
    }
    0
}

/// `sigaltstack`: there was none before.
pub extern "C-unwind" fn sigaltstack(_: usize, old: usize) -> c_int {
    if old != 0 {
        whole_range(old, size_of::<libc::stack_t>(), true);
        let none = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: as above.
        unsafe { (old as *mut libc::stack_t).write(none) };
    }
    0
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
    "mremap",
    "pthread_mutexattr_setpshared",
    "aio_read",
    "swapcontext",
    "makecontext",
    "sbrk",
    "brk",
    "shmget",
    "shmat",
    "GOMP_parallel",
    "GOMP_parallel_sections",
    "GOMP_parallel_loop_static",
    "GOMP_parallel_loop_dynamic",
    "GOMP_parallel_loop_guided",
    "GOMP_parallel_loop_runtime",
    "GOMP_parallel_loop_nonmonotonic_dynamic",
    "GOMP_parallel_loop_nonmonotonic_guided",
    "GOMP_parallel_loop_nonmonotonic_runtime",
    "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
    "GOMP_task",
    "__kmpc_fork_call",
    "__kmpc_omp_task",
];

pub extern "C-unwind" fn refused<const I: usize>() -> c_int {
    refuse(REFUSED[I])
}

/// Libraries look for others that they can do without: they are told that these do not exist. A program that loads parts of itself
/// is not run.
pub extern "C-unwind" fn dlopen(name: *const c_char, mode: c_int) -> *mut c_void {
    // SAFETY: the stack pointer of the stub's caller.
    let caller = unsafe { *(register(0) as *const usize) };
    if crate::run::module::file_at(caller).is_none_or(|file| file == world().object) {
        refuse("dlopen");
    }
    world().unloaded = true;
    let name = if name.is_null() { "the program".into() } else { text_at(name) };
    let nowhere = CString::new(format!("/membar loads nothing more/{name}")).unwrap_or_default();
    // SAFETY: there is no such file, so nothing is loaded; `dlerror` says so.
    unsafe { libc::dlopen(nowhere.as_ptr(), mode) }
}

pub(super) fn refuse(name: &str) -> ! {
    fault::limit(format!("calls `{name}`, which membar does not run"))
}
