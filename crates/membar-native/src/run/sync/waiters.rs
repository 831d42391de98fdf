//! Who waits where: the queues of condition variables and futexes.
//!
//! # Problem
//!
//! A thread joins a queue and sleeps; others take threads from it and wake them. The explorer knows memory only, one address a
//! step: which of these steps conflict must be visible there, and so must the queue as far as somebody's next step depends on it.
//!
//! # Algorithm
//!
//! A queue has a *cell* of 8 bytes; who is in it is noted with the threads ([`Waits`]). Every operation on a queue is a
//! read-modify-write of its cell, which holds a digest of the queue, or [`LOCKED`] while a futex operation that also looks at the
//! program's memory is under way: others wait for its end, as they do in the kernel.
//!
//! Whoever takes threads from a queue marks them in the step in which it does, and wakes them one by one afterwards. A thread sleeps until
//! a word of its own in its control block is set, and clears that word in the step in which it wakes up.
//!
//! A wait with a time limit does not sleep. At its next step it leaves the queue, if it is still there, and the time is up; if not, somebody
//! is about to wake it. That step and the waker's conflict, so both orders are explored.
//!
//! # Invariants
//!
//! A thread's [`Waits`] changes only in a step on the cell of the queue that it is in or comes into. A cell that is not locked holds
//! the digest of the threads whose `cell` it is, 0 if there are none. A thread's word is set by one who has marked the thread, once.

use super::*;
use crate::run::layout::{FUTEX_CELLS, FUTEXES};

/// The queue that a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// The cell of the queue, 0 if it is in none.
    pub cell: usize,
    /// The object that it waits at: futexes share cells.
    pub key: usize,
    /// Who may wake it, of those who name such bits.
    pub bits: u32,
    /// Its place in the queue: a higher number than those before it.
    ticket: u32,
    /// A lock that it wants to have when it is woken ([`super::futex`]).
    pub lock: usize,
    /// Who has taken it from a queue and will wake it, plus one.
    waker: usize,
}

/// Somebody is at work.
const LOCKED: u64 = u64::MAX;

/// Everybody may wake it.
pub const ANYBODY: u32 = u32::MAX;

fn value(cell: usize) -> &'static mut u64 {
    // SAFETY: a condition variable of the program, or a cell of ours; a bad pointer is a fault of the program.
    unsafe { &mut *(cell as *mut u64) }
}

pub fn mine() -> &'static mut Waits {
    &mut world().this().own.waits
}

/// The next step is one on the queue.
pub fn enter(cell: usize) {
    let event = Event::sync(cell, 8);
    // Only those of futexes get locked.
    let is_futex = cell.wrapping_sub(FUTEXES) < 8 * FUTEX_CELLS;
    if is_futex { event.while_not(LOCKED) } else { event }.announce();
    full();
}

/// Keeps others from the queue until [`unlock`] and [`changed`] are called.
pub fn lock(cell: usize) {
    enter(cell);
    *value(cell) = LOCKED;
}

/// The next step is the last one on a locked queue.
pub fn unlock(cell: usize) {
    Event::sync(cell, 8).announce();
    full();
}

/// The queue has changed, or is not locked any more.
pub fn changed(cell: usize) {
    const A: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut digest = 0u64;
    for id in all(cell) {
        let Waits { key, bits, lock, .. } = world().threads[id].own.waits;
        for word in [id as u64 + 1, place(key) as u64, u64::from(bits), place(lock) as u64] {
            digest = (digest ^ word).wrapping_mul(A).rotate_left(29);
        }
        // Neither free nor locked.
        digest = digest.clamp(1, LOCKED - 1);
    }
    *value(cell) = digest;
}

/// An address that is the same wherever the program's object is.
pub fn place(addr: usize) -> usize {
    let module = &world().module;
    if addr.wrapping_sub(module.base) < module.len { addr - module.base } else { addr }
}

/// The thread that comes next in the queue after a ticket.
fn after(cell: usize, ticket: u32) -> Option<usize> {
    let w = world();
    let waits = |id: &usize| w.threads[*id].own.waits;
    (0..w.known).filter(|id| waits(id).cell == cell && waits(id).ticket > ticket).min_by_key(|id| waits(id).ticket)
}

/// Whether a thread in the queue waits at the object and may be woken by who names these bits.
fn fits(id: usize, key: usize, bits: u32) -> bool {
    let waits = &world().threads[id].own.waits;
    waits.key == key && waits.bits & bits != 0
}

/// The threads in a queue, the first one first.
fn all(cell: usize) -> impl Iterator<Item = usize> {
    let mut last = 0;
    std::iter::from_fn(move || {
        let id = after(cell, last)?;
        last = world().threads[id].own.waits.ticket;
        Some(id)
    })
}

/// Puts a thread at the end of a queue.
pub fn join(id: usize, cell: usize, key: usize, bits: u32, lock: usize) {
    let last = all(cell).last().map_or(0, |last| world().threads[last].own.waits.ticket);
    world().threads[id].own.waits = Waits { cell, key, bits, ticket: last + 1, lock, waker: 0 };
}

/// The first thread that waits at the object.
pub fn first(cell: usize, key: usize, bits: u32) -> Option<usize> {
    all(cell).find(|&id| fits(id, key, bits))
}

/// How many wait at the object.
pub fn count(cell: usize, key: usize) -> usize {
    all(cell).filter(|&id| fits(id, key, ANYBODY)).count()
}

/// Takes a thread from its queue, to wake it.
pub fn mark(id: usize) {
    let waker = current() + 1;
    world().threads[id].own.waits = Waits { waker, ..Waits::default() };
}

/// Marks so many threads that wait at the object. How many there were.
pub fn mark_some(cell: usize, key: usize, bits: u32, most: usize) -> usize {
    let mut n = 0;
    while n < most
        && let Some(id) = first(cell, key, bits)
    {
        mark(id);
        n += 1;
    }
    n
}

/// Wakes those that this thread has marked.
pub fn wake_marked() {
    let marked = || {
        let w = world();
        (0..w.known).find(|&id| w.threads[id].own.waits.waker == w.current + 1)
    };
    while let Some(id) = marked() {
        world().threads[id].own.waits.waker = 0;
        Event::sync(control(id) + WOKEN, 4).always().announce();
        *word(control(id) + WOKEN) = 1;
        full();
    }
}

/// Sleeps until somebody wakes this thread.
pub fn sleep() {
    let woken = control(current()) + WOKEN;
    Event::sync(woken, 4).while_not(0).always().announce();
    *word(woken) = 0;
    full();
}

/// Waits until the time is up or somebody wakes this thread, which is in the queue. Whether it was woken.
pub fn doze(mut cell: usize) -> bool {
    loop {
        enter(cell);
        let now = mine().cell;
        if now == cell {
            *mine() = Waits::default();
            changed(cell);
            return false;
        }
        if now == 0 {
            sleep();
            return true;
        }
        // It has been put into another queue meanwhile.
        cell = now;
    }
}
