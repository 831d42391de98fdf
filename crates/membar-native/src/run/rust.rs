//! What the quiet standard library of Rust asks for (`build/rust/quiet.patch`).
//!
//! # Problem
//!
//! Rust's mutex is a futex and a loop that spins, which has hundreds of executions where a mutex has two. And an uncaught panic is seen
//! only when the stack on which it began is gone.
//!
//! # Algorithm
//!
//! * A *mutex* is 0 or 1 in the word that the library has for it. To lock it is one step that cannot be made while it is 1, to unlock it
//!   another one. `try_lock` is the library's own compare-exchange on the same word. For the machine both are interlocked, as the library's are.
//! * A *scope* waits for the end of each of its threads, as if it joined them.
//! * What a new thread is given, and its result, are handed over *quietly*: the accesses are ordered by the thread's start and end, so they
//!   are no steps. No step is made meanwhile.
//! * A *panic* notes its message, place and stack with its thread; if it reaches the end of a thread or of `main`, it is reported from there.
//!
//! # Guarantees
//!
//! No execution of a mutex is lost: whether a thread blocked before it got a lock cannot be observed. A thread that never panics pays
//! nothing.

use super::access::Event;
use super::fault;
use super::sync;
use super::tsan::barrier;
use super::world::world;
use membar_core::Barrier;
use membar_explore::Fault;
use std::sync::atomic::{AtomicBool, Ordering};

const FREE: u32 = 0;
const HELD: u32 = 1;

fn set(mutex: usize, value: u32) {
    // SAFETY: the program's own mutex, which was looked at when its step was announced.
    unsafe { *(mutex as *mut u32) = value };
    barrier(Barrier::Full);
}

pub extern "C-unwind" fn mutex_lock(mutex: usize) {
    Event::sync(mutex, 4).takes().while_not(u64::from(HELD)).announce();
    set(mutex, HELD);
}

pub extern "C-unwind" fn mutex_unlock(mutex: usize) {
    Event::sync(mutex, 4).gives().announce();
    set(mutex, FREE);
}

/// A scope waits for one of its threads.
pub extern "C-unwind" fn await_end(thread: usize) {
    sync::await_end(thread);
}

/// The accesses of the thread that runs are no steps from now on, or are again.
pub extern "C-unwind" fn quiet(on: bool) {
    let w = world();
    let thread = &mut w.threads[w.current];
    if on {
        thread.quiet += 1;
        if thread.quiet == 1 {
            thread.was_alone = std::mem::replace(&mut w.alone, true);
        }
    } else if thread.quiet > 0 {
        thread.quiet -= 1;
        if thread.quiet == 0 {
            w.alone = thread.was_alone;
        }
    }
}

/// A panic begins, or is resumed: then it has no place.
pub extern "C-unwind" fn panics(message: usize, len: usize, file: usize, file_len: usize, line: u32, column: u32) {
    let w = world();
    let thread = &w.threads[w.current];
    if file_len == 0 && thread.panic.is_some() {
        return;
    }
    // SAFETY: strings of the program's.
    let [message, file] = [(message, len), (file, file_len)]
        .map(|(at, len)| String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(at as *const u8, len) }));
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let place = if file.is_empty() { String::new() } else { format!(" at {file}:{line}:{column}") };
    let stack = fault::offsets(&fault::here());
    let noted = Fault { stack, ..Fault::error(format!("panics{place}: {}", lines.join(", "))) };
    let w = world();
    w.threads[w.current].panic = Some(noted);
}

/// The panic that the thread that runs has begun last.
pub fn panic() -> Option<Fault> {
    let w = world();
    w.threads[w.current].panic.clone()
}

/// The program is a test that has to panic: then so may its threads.
static EXPECTED: AtomicBool = AtomicBool::new(false);

pub extern "C-unwind" fn panics_are_expected() {
    EXPECTED.store(true, Ordering::Relaxed);
}

/// Nobody has caught the panic of the thread that runs.
pub extern "C-unwind" fn uncaught() {
    if EXPECTED.load(Ordering::Relaxed) && world().current != 0 {
        return;
    }
    let noted = panic().unwrap_or_else(|| Fault::error("panics"));
    super::coroutine::Thread::stop(noted)
}
