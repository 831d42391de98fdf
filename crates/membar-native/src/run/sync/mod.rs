//! Threads, locks and everything else of POSIX that threads wait for each other with.
//!
//! Objects are kept in the memory that the program gives them, in our own layout that a statically initialised object
//! fits; so is what has become of them ([`life`]). Each operation is one or a few steps ([`super::access`]) that synchronise memory fully (POSIX 4.12). An operation that would
//! block is disabled until it can be made, so no schedule has it fail first.
//!
//! * *mutex*: 0 free, 1 held (2 and 3 are for robust ones); behind it depth, owner and kind.
//! * *condition variable*, *futex*: a queue of waiting threads ([`waiters`]). A waiting thread waits for its own word that the
//!   waking thread sets. No spurious wake-ups.
//! * *reader-writer lock*: the number of readers, or all ones for a writer. *semaphore*: its value. *spin lock*: 1 or 2. *barrier*:
//!   arrived, generation, wanted. *once*: 0, 1 running, 2 done.
//! * *atomic objects* of 3, 5 or 24 bytes: one lock for all of them, 0 or 1.
//! * *timed* operations do not wait: what is available now is taken, otherwise the time is up. The scheduler decides how much others
//!   have done by then, so both outcomes are explored.

mod barriers;
mod c11;
mod cond;
mod futex;
mod keys;
mod large;
mod life;
mod locks;
mod mutex;
mod once;
mod threads;
pub mod waiters;

pub use barriers::*;
pub use c11::*;
pub use cond::*;
pub use futex::futex;
pub use keys::*;
pub use large::*;
pub use life::*;
pub use locks::*;
pub use mutex::*;
pub use once::*;
pub use threads::*;

use super::access::{Event, plain, plain_within, site};
use super::fault;
use super::layout::{ENDED, FATE, MAX_THREADS, STACK_WANTED, STARTED, WOKEN, control};
use super::libc_hooks::{time_has_passed, time_is_up};
use super::registers::Registers;
use super::slot::{END_SITE, Stand};
use super::thread;
use super::tsan::barrier;
use super::world::world;
use membar_core::Barrier;
use membar_explore::{Message, Piece, message};
use std::ffi::c_int;

/// The handle that a hook returns for a thread: never 0, and the same in every execution.
fn handle(id: usize) -> usize {
    control(id)
}

/// The thread behind a handle.
fn thread_of(handle: usize) -> Option<usize> {
    let offset = handle.checked_sub(control(0))?;
    let id = offset / super::layout::CONTROL_SIZE;
    (handle == control(id) && id < world().known).then_some(id)
}

fn word(addr: usize) -> &'static mut u32 {
    // SAFETY: an object of the program, or a control block; a bad pointer is a fault of the program.
    unsafe { &mut *(addr as *mut u32) }
}

/// Writes down what has been done to an object, by whom and where: two words.
fn note(at: usize, what: u32) {
    *word(at) = NOTE | what << 8 | current() as u32;
    *word(at + 4) = site(world());
}

/// The mark in the word of a note that tells it from anything that a program leaves in memory.
const NOTE: u32 = 0x6d62_0000;

/// The contents of a note, and the thread and place that left it, in words.
fn noted(at: usize) -> Option<(u32, Message)> {
    let note = *word(at);
    let who = || fault::who((note & 0xff) as usize);
    let by = || message!(who(), " at ", Piece::Line(vec![*word(at + 4)]));
    (note & 0xffff_0000 == NOTE).then(|| (note >> 8 & 0xff, by()))
}

/// Whether a time has as many nanoseconds as it may have.
fn is_time(time: usize) -> bool {
    plain_within(time, 16, false);
    // SAFETY: the program's own variable.
    let [_, nanos] = unsafe { *(time as *const [i64; 2]) };
    (0..1_000_000_000).contains(&nanos)
}

fn full() {
    barrier(Barrier::Full);
}

fn current() -> usize {
    world().current
}
