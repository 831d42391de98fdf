//! Waiting threads: the queues of condition variables and futexes.
//!
//! # Problem
//!
//! A thread joins a queue and sleeps; others take threads from it and wake them. The explorer knows memory only, one
//! address per step: which of these steps conflict must be visible there, and so must the queue as far as somebody's next
//! step depends on it.
//!
//! # Algorithm
//!
//! A queue has a *cell* of 8 bytes; its members are noted with the threads ([`Waits`]). Every operation on a queue is a
//! read-modify-write of its cell, which holds a digest of the queue, or [`LOCKED`] while a futex operation that also
//! looks at the program's memory is under way: others wait for its end, as they do in the kernel.
//!
//! Which threads are taken from a queue, if more are in it, is a choice that is explored. A thread that takes threads from a
//! queue marks them in the step in which it does, and wakes them one by one afterwards. A thread sleeps until a word of
//! its own in its control block is set, and clears that word in the step in which it wakes up.
//!
//! A wait with a time limit does not sleep. At its next step it leaves the queue, if it is still there, and the time is
//! up; if not, somebody is about to wake it. That step and the waker's conflict, so both orders are explored.
//!
//! # Invariants
//!
//! A thread's [`Waits`] changes only in a step on the cell of the queue that it is in or comes into, or while that is
//! locked. A cell that is not locked holds the digest of the threads whose `cell` it is, 0 if there are none. A
//! thread's word is set once, by the thread that has marked it.

use super::*;
use crate::run::choose::{choose, surprise};
use crate::run::layout::{FUTEX_CELLS, FUTEXES};
use membar_explore::MAX_OUTCOMES;

/// The queue that a thread is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// The cell of the queue, 0 if it is in none.
    pub cell: usize,
    /// The object that it waits at: futexes share cells.
    pub key: usize,
    /// The bits of those that may wake it, if they name such bits.
    pub bits: u32,
    /// Its place in the queue: a higher number than those before it.
    ticket: u32,
    /// A lock that it wants to have when it is woken ([`super::futex`]).
    pub lock: usize,
    /// The thread that has decided to take it from the queue, plus one.
    chosen: usize,
    /// The thread that has taken it from a queue and will wake it, plus one.
    waker: usize,
}

/// An operation is under way.
const LOCKED: u64 = u64::MAX;

/// Any thread may wake it.
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
    enter_with(cell, Event::sync(cell, 8).silent());
}

/// The same for a thread that has waited: if it has been taken from the queue, the queue may no longer exist.
fn enter_again(cell: usize) {
    enter_with(cell, Event::sync(cell, 8).silent().may_outlive());
}

fn enter_with(cell: usize, event: Event) {
    // Only those of futexes get locked.
    if is_futex(cell) { event.while_not(LOCKED) } else { event }.announce();
    full();
}

fn is_futex(cell: usize) -> bool {
    cell.wrapping_sub(FUTEXES) < 8 * FUTEX_CELLS
}

/// A condition variable has a life.
fn check_alive(cell: usize) {
    if !is_futex(cell) {
        CONDITION.used(cell, "signals");
    }
}

/// Keeps others from the queue until [`unlock`] is called.
pub fn lock(cell: usize) {
    enter(cell);
    *value(cell) = LOCKED;
}

/// Gives back the lock of a queue, which may have changed meanwhile.
pub fn unlock(cell: usize) {
    Event::sync(cell, 8).silent().announce();
    full();
    changed(cell);
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

/// Whether a thread in the queue waits at the object and may be woken by a thread that names these bits.
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
    world().threads[id].own.waits = Waits { cell, key, bits, ticket: last + 1, lock, chosen: 0, waker: 0 };
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

/// If more threads wait at the object than are wanted: decides which. Whether there was something to decide.
pub fn decide(cell: usize, key: usize, bits: u32, wanted: usize) -> bool {
    let waiting = all(cell).filter(|&id| fits(id, key, bits)).count();
    if wanted == 0 || waiting <= wanted {
        return false;
    }
    let Some(ways) = ways(waiting, wanted) else {
        fault::limit(format!("wakes {wanted} of {waiting} threads, in more ways than membar explores"));
    };
    let mut way = choose(ways);
    let (mut waiting, mut wanted) = (waiting, wanted);
    for id in all(cell).filter(|&id| fits(id, key, bits)) {
        waiting -= 1;
        // The first ways are those with this one.
        let with = if wanted == 0 { 0 } else { self::ways(waiting, wanted - 1).unwrap_or(0) };
        if way < with {
            world().threads[id].own.waits.chosen = current() + 1;
            wanted -= 1;
        } else {
            way -= with;
        }
    }
    true
}

/// How many ways there are to take this many of that many, if they can be explored.
fn ways(of: usize, n: usize) -> Option<u32> {
    let mut ways = 1u64;
    for i in 0..n.min(of - n) as u64 {
        ways = ways * (of as u64 - i) / (i + 1);
        if ways > u64::from(MAX_OUTCOMES) {
            return None;
        }
    }
    Some(ways as u32)
}

/// Takes this many threads from those that wait at the object: those that were decided on, then the first. How many there were.
pub fn take(cell: usize, key: usize, bits: u32, most: usize, each: impl Fn(usize)) -> usize {
    let me = current() + 1;
    let chosen = |id: &usize| world().threads[*id].own.waits.chosen == me;
    let mut n = 0;
    while n < most
        && let Some(id) = all(cell).filter(|&id| fits(id, key, bits)).min_by_key(|id| !chosen(id))
    {
        each(id);
        n += 1;
    }
    all(cell).filter(chosen).for_each(|id| world().threads[id].own.waits.chosen = 0);
    n
}

/// Wakes this many threads that wait at the object. How many there were.
pub fn wake(cell: usize, key: usize, bits: u32, most: usize) -> usize {
    enter(cell);
    check_alive(cell);
    // A decision is carried out in its own step: others may have come or gone before it.
    if decide(cell, key, bits, most) {
        enter(cell);
        check_alive(cell);
    }
    let n = take(cell, key, bits, most, mark);
    changed(cell);
    wake_marked();
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
        Event::sync(control(id) + WOKEN, 4).gives().always().announce();
        *word(control(id) + WOKEN) = 1;
        full();
    }
}

/// Sleeps until somebody wakes this thread.
pub fn sleep() {
    let woken = control(current()) + WOKEN;
    Event::sync(woken, 4).takes().while_not(0).always().announce();
    *word(woken) = 0;
    full();
}

/// Waits in a queue, with a time limit or without. Whether the thread is told that it was woken.
pub fn rest(cell: usize, timed: bool) -> bool {
    if surprises() {
        doze(cell);
        return true;
    }
    if timed {
        return doze(cell);
    }
    sleep();
    true
}

/// Whether this wait may end without a reason, in this execution.
pub fn surprises() -> bool {
    let w = world();
    if !w.spurious_wakeups {
        w.grown |= !w.waits;
        w.waits = true;
        return false;
    }
    surprise()
}

/// Waits until the time is up or somebody wakes this thread, which is in the queue. Whether it was woken.
pub fn doze(mut cell: usize) -> bool {
    loop {
        enter_again(cell);
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
