//! System calls by number: `syscall(SYS_…)`.
//!
//! Those that have a function are that function. Those that ask for something harmless are answered, the same in every execution; what an older
//! kernel does not have may be missing here too. All others are refused by name.

use super::*;
use crate::run::sync::{exit_thread, futex};

/// Numbers and names.
static NAMES: &str = include_str!("syscalls.txt");

/// `` `epoll_wait` (232) ``
fn name(number: c_long) -> String {
    let named = |line: &'static str| line.split_once(' ').filter(|(n, _)| n.parse() == Ok(number));
    match NAMES.lines().find_map(named) {
        Some((_, name)) => format!("`{name}` ({number})"),
        None => format!("number {number}"),
    }
}

fn refuse_call(number: c_long, why: &str) -> ! {
    fault::limit(format!("makes the system call {}, which membar does not run{why}", name(number)))
}

fn fails(error: c_int) -> c_long {
    // SAFETY: the C library's own.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Writes something to a variable of the program, if it gave one.
fn give<T>(to: usize, value: T) {
    if to != 0 {
        plain(to, size_of::<T>(), true);
        // SAFETY: the program's own variable.
        unsafe { (to as *mut T).write_unaligned(value) };
    }
}

/// The seventh argument is on the stack, where that of a function with this many is.
pub extern "C-unwind" fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    let refuse = |why: &str| -> ! { refuse_call(number, why) };
    match number {
        libc::SYS_futex => futex(a, b as c_int, c as u32, d, e, f as u32),
        // Identity and location of the caller.
        libc::SYS_gettid | libc::SYS_set_tid_address => c_long::from(gettid()),
        libc::SYS_getpid => c_long::from(getpid()),
        libc::SYS_getppid => c_long::from(getppid()),
        libc::SYS_getcpu => {
            give(a, 0u32);
            give(b, 0u32);
            0
        }
        // SAFETY: they take nothing and only tell.
        libc::SYS_getuid | libc::SYS_geteuid | libc::SYS_getgid | libc::SYS_getegid => unsafe { libc::syscall(number) },
        libc::SYS_sched_getaffinity => {
            let n = b.min(size_of::<libc::cpu_set_t>()) & !7;
            let mut set = [0u8; size_of::<libc::cpu_set_t>()];
            // SAFETY: the buffer is that long.
            let told = unsafe { libc::syscall(number, 0, n, set.as_mut_ptr()) };
            for (i, &byte) in set[..told.max(0) as usize].iter().enumerate() {
                give(c + i, byte);
            }
            told
        }
        libc::SYS_sched_setaffinity | libc::SYS_set_robust_list => 0,
        // Time.
        libc::SYS_sched_yield | libc::SYS_nanosleep | libc::SYS_clock_nanosleep => 0,
        libc::SYS_clock_gettime => c_long::from(clock_gettime(a as c_int, b as *mut _)),
        libc::SYS_clock_getres => {
            give(b, [0u64, 1]);
            0
        }
        libc::SYS_gettimeofday => c_long::from(gettimeofday(a as *mut _, b)),
        libc::SYS_time => time(a as *mut _),
        libc::SYS_getrandom => getrandom(a, b, c as u32) as c_long,
        // Memory.
        libc::SYS_mmap => mmap(a, b, c as c_int, d as c_int, e as c_int, f as c_long) as c_long,
        libc::SYS_munmap => c_long::from(munmap(a, b)),
        libc::SYS_madvise => c_long::from(madvise(a, b, c as c_int)),
        libc::SYS_mprotect => c_long::from(mprotect(a, b, c as c_int)),
        // A name for a debugger.
        libc::SYS_prctl if a as c_int == libc::PR_SET_NAME => 0,
        // Which commands there are: none, as on an older kernel.
        libc::SYS_membarrier if a == 0 => 0,
        libc::SYS_membarrier => refuse(": it orders other threads too"),
        libc::SYS_rseq => fails(libc::ENOSYS),
        // Output.
        libc::SYS_write if a == 1 || a == 2 => {
            whole_range(b, c, false);
            // SAFETY: the program asked for this.
            unsafe { libc::write(a as c_int, b as *const c_void, c) as c_long }
        }
        // The end.
        libc::SYS_exit => exit_thread(0),
        libc::SYS_exit_group => exit_at_once(a as c_int),
        _ => refuse(""),
    }
}
