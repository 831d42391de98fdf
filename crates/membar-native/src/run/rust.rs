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
//! * A *reader-writer lock* is how many read, or [`WRITER`], and how many writers have it or want it: while there are any, no reader comes in.
//! * Who *initialises* something once waits until nobody else does, and begins if nobody has, in one step.
//! * *Tokens* are counted: that of `park`, and free places in a channel (`build/rust/channel.rs`). To take one is a step that cannot be made
//!   while there is none.
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
use membar_core::{AccessKind, Barrier, Order};
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

const WRITER: u32 = u32::MAX;

fn word(at: usize) -> &'static mut u32 {
    // SAFETY: a word of the program's, which was looked at when its step was announced.
    unsafe { &mut *(at as *mut u32) }
}

/// A look at a word, which may have to be something.
fn look(at: usize) -> Event {
    Event::atomic(AccessKind::Load, at, 4, Order::Acquire).fresh().before(Barrier::Full)
}

/// A writer comes or goes.
fn writers(at: usize, change: i32) {
    Event::sync(at, 4).silent().announce();
    set(at, word(at).wrapping_add_signed(change));
}

pub extern "C-unwind" fn rwlock_read(lock: usize, writers: usize) {
    look(writers).until(0).announce();
    barrier(Barrier::Full);
    Event::sync(lock, 4).takes().while_not(u64::from(WRITER)).counted().announce();
    set(lock, *word(lock) + 1);
}

pub extern "C-unwind" fn rwlock_try_read(lock: usize, writers: usize) -> bool {
    look(writers).announce();
    barrier(Barrier::Full);
    if *word(writers) != 0 {
        return false;
    }
    Event::sync(lock, 4).tries().announce();
    let free = *word(lock) != WRITER;
    set(lock, if free { *word(lock) + 1 } else { WRITER });
    free
}

pub extern "C-unwind" fn rwlock_read_unlock(lock: usize) {
    Event::sync(lock, 4).gives().counted().announce();
    set(lock, word(lock).wrapping_sub(1));
}

pub extern "C-unwind" fn rwlock_write(lock: usize, waiting: usize) {
    writers(waiting, 1);
    Event::sync(lock, 4).takes().until(0).announce();
    set(lock, WRITER);
}

pub extern "C-unwind" fn rwlock_try_write(lock: usize, waiting: usize) -> bool {
    Event::sync(lock, 4).tries().expects(0).announce();
    barrier(Barrier::Full);
    if *word(lock) != 0 {
        return false;
    }
    set(lock, WRITER);
    writers(waiting, 1);
    true
}

/// Afterwards it is locked by this many readers.
pub extern "C-unwind" fn rwlock_write_unlock(lock: usize, waiting: usize, readers: u32) {
    writers(waiting, -1);
    Event::sync(lock, 4).gives().announce();
    set(lock, readers);
}

/// The library's states of something that is initialised once. A bit above them says that somebody waits.
const COMPLETE: u32 = 0;
const RUNNING: u32 = 1;
const POISONED: u32 = 2;
const INCOMPLETE: u32 = 3;

/// Waits until nobody initialises it. The state then is the result; if it is to be initialised, that has begun.
pub extern "C-unwind" fn once(state: usize, ignore_poisoning: bool) -> u32 {
    let (mut expected, mut busy) = (INCOMPLETE, RUNNING);
    loop {
        Event::sync(state, 4).takes().expects(u64::from(expected)).while_not(u64::from(busy)).announce();
        barrier(Barrier::Full);
        let found = *word(state);
        match found & 3 {
            COMPLETE => return found,
            RUNNING => busy = found,
            POISONED if !ignore_poisoning => return found,
            _ if found == expected => {
                set(state, found & !3 | RUNNING);
                return found;
            }
            _ => expected = found,
        }
    }
}

/// Waits until a word is something else, which is the result.
pub extern "C-unwind" fn await_change(at: usize, value: u32) -> u32 {
    look(at).while_not(u64::from(value)).announce();
    barrier(Barrier::Full);
    *word(at)
}

/// Waits for a token, and takes it.
pub extern "C-unwind" fn take(tokens: usize) {
    Event::sync(tokens, 4).takes().while_not(0).counted().announce();
    set(tokens, word(tokens).wrapping_sub(1));
}

/// Takes a token if there is one.
pub extern "C-unwind" fn try_take(tokens: usize) -> bool {
    Event::sync(tokens, 4).tries().announce();
    let there = *word(tokens) != 0;
    set(tokens, word(tokens).wrapping_sub(u32::from(there)));
    there
}

pub extern "C-unwind" fn give(tokens: usize, count: u32) {
    Event::sync(tokens, 4).gives().counted().announce();
    set(tokens, word(tokens).wrapping_add(count));
}

/// Waits for the token that `unpark` sets. With `--spurious-wakeups` it may return without it.
pub extern "C-unwind" fn park(token: usize) {
    if sync::waiters::surprises() {
        Event::sync(token, 4).takes().announce();
    } else {
        Event::sync(token, 4).takes().while_not(0).announce();
    }
    set(token, 0);
}

pub extern "C-unwind" fn no_second_receiver() {
    fault::limit("clones a receiver of `std::sync::mpmc`: membar knows channels with one receiver only")
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
    if w.module.aborts && !file.is_empty() {
        super::coroutine::Thread::stop(noted)
    }
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

/// The test has failed without a panic.
pub extern "C-unwind" fn test_fails(message: usize, len: usize) -> ! {
    // SAFETY: a string of the program's.
    let message = String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(message as *const u8, len) });
    super::coroutine::Thread::stop(Fault::error(message.into_owned()))
}

/// Nobody has caught the panic of the thread that runs.
pub extern "C-unwind" fn uncaught() {
    if EXPECTED.load(Ordering::Relaxed) && world().current != 0 {
        return;
    }
    let noted = panic().unwrap_or_else(|| Fault::error("panics"));
    super::coroutine::Thread::stop(noted)
}
