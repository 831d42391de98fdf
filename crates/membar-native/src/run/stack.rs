//! Where the stack of a thread ends that asked for a small one.
//!
//! # Problem
//!
//! Every thread has a stack of the same size. One that asked for less, and uses more, would not get away with it elsewhere.
//!
//! # Algorithm
//!
//! When a thread is created that asked for a size, what is below that cannot be accessed from then on, but for some room for
//! hooks, which run on the same stack. If the same thread asks for another size in another execution, the largest counts: what was in use
//! once can always be restored.
//!
//! # Guarantees
//!
//! A thread that uses [`ROOM`] more than it asked for, and touches that, overflows. Up to there it may go unnoticed.
//!
//! # Complexity
//!
//! One system call for each thread that asks for a size, in the first execution.

use super::layout::{GUARD, MAX_THREADS, STACK_SIZE, stack_base};
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes for hooks, below what a thread asked for.
pub const ROOM: usize = 64 << 10;
const PAGE: usize = 4096;
/// No thread has been created by this number.
const UNKNOWN: usize = usize::MAX;

/// The bytes that each stack has less than others.
static LESS: [AtomicUsize; MAX_THREADS] = [const { AtomicUsize::new(UNKNOWN) }; MAX_THREADS];

/// The lowest address of a thread's stack that can be used.
#[inline]
pub fn floor(thread: usize) -> usize {
    let less = LESS[thread].load(Ordering::Relaxed);
    stack_base(thread) - STACK_SIZE + GUARD + if less == UNKNOWN { 0 } else { less }
}

/// A thread is created that asked for this many bytes, or for none in particular: 0.
pub fn wanted(thread: usize, bytes: usize) {
    let most = STACK_SIZE - GUARD;
    let less = if bytes == 0 { 0 } else { most.saturating_sub(bytes.saturating_add(ROOM).next_multiple_of(PAGE)) };
    let before = LESS[thread].load(Ordering::Relaxed);
    if less >= before && before != UNKNOWN {
        return;
    }
    let from = stack_base(thread) - STACK_SIZE + GUARD;
    let (at, len, access) = match before {
        UNKNOWN => (from, less, libc::PROT_NONE),
        _ => (from + less, before - less, libc::PROT_READ | libc::PROT_WRITE),
    };
    // SAFETY: pages of a stack on which nothing runs yet. If the system refuses, the stack is as large as any other.
    if len == 0 || unsafe { libc::mprotect(at as *mut c_void, len, access) } == 0 {
        LESS[thread].store(less, Ordering::Relaxed);
    }
}
