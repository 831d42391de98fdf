//! Futexes: the basis of `std::atomic::wait`, Rust's locks and hand-written ones.
//!
//! # Problem
//!
//! The kernel compares a word of the program and puts the thread to sleep in one go, as seen by every other operation
//! on futexes, but not by those that only write the word. A step of the explorer accesses one address.
//!
//! # Algorithm
//!
//! As in the kernel: the queue is locked, the word is read, and the thread joins the queue or does not when the lock is
//! given back ([`super::waiters`]): three steps. Changes in a locked queue take effect for others when the
//! lock is released. A wait ends when the thread is woken, when its time is up, or before it sleeps if the word is
//! another one; never because the word changes later. If more threads wait, which one is woken is a choice that is explored.
//! Operations on two futexes lock two queues, the one at the lower address first.
//!
//! A few cells serve all futexes. Two that share one only seem to conflict: that costs executions.
//!
//! A lock with priority inheritance is a word that holds the owner's number: it is given to the first waiter when its
//! owner gives it up. Priorities do nothing.
//!
//! # Deviations
//!
//! A bad address ends in a crash where the kernel returns EFAULT. Time limits are not compared with the clock: a wait
//! may time out at any moment. No signal wakes anybody up.

use super::waiters::{
    self, ANYBODY, count, decide, doze, first, join, lock, mark, place, rest, sleep, unlock, wake_marked,
};
use super::*;
use crate::run::layout::{FUTEX_CELLS, FUTEXES};
use membar_core::{AccessKind, Order};

const WAITERS: u32 = 1 << 31;
const OWNER_DIED: u32 = 1 << 30;
const TID: u32 = OWNER_DIED - 1;

/// The cell of a futex's queue.
fn cell(key: usize) -> usize {
    world().futexes = true;
    let hash = (place(key) as u64 >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    FUTEXES + 8 * (hash as usize % FUTEX_CELLS)
}

/// Whether a futex may be shared with other processes, as its user says. The kernel keeps those apart from private ones: a thread that waits
/// for one is not woken by a thread that names the other, although the address is the same.
#[derive(Clone, Copy)]
struct Shared(bool);

impl Shared {
    /// What threads wait for: addresses of futexes are multiples of 4.
    fn key(self, addr: usize) -> usize {
        addr + usize::from(self.0)
    }
}

/// A thread that waits for nothing but to be woken, or for a lock.
#[derive(Clone, Copy)]
enum Waiter {
    Plain(Shared),
    ForLock(usize),
}

/// The result of the system call: a number, or an error's, negated.
type Outcome = Result<usize, c_int>;

/// The system call, with its arguments as they are passed.
pub fn futex(addr: usize, operation: c_int, value: u32, timeout: usize, other: usize, value3: u32) -> i64 {
    match run(addr, operation, value, timeout, other, value3) {
        Ok(n) => n as i64,
        Err(error) => {
            if error == libc::ETIMEDOUT {
                let relative = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) == libc::FUTEX_WAIT;
                if relative { time_has_passed(timeout) } else { time_is_up(timeout) }
            }
            i64::from(fails(error))
        }
    }
}

fn run(addr: usize, operation: c_int, value: u32, timeout: usize, other: usize, value3: u32) -> Outcome {
    let command = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let two = matches!(
        command,
        libc::FUTEX_REQUEUE
            | libc::FUTEX_CMP_REQUEUE
            | libc::FUTEX_WAKE_OP
            | libc::FUTEX_WAIT_REQUEUE_PI
            | libc::FUTEX_CMP_REQUEUE_PI
    );
    if !addr.is_multiple_of(4) || two && !other.is_multiple_of(4) {
        return Err(libc::EINVAL);
    }
    let most = |n: u32| n as i32 as usize;
    let shared = Shared(operation & libc::FUTEX_PRIVATE_FLAG == 0);
    match command {
        libc::FUTEX_WAIT => wait(addr, value, timeout, ANYBODY, Waiter::Plain(shared)),
        libc::FUTEX_WAIT_BITSET => wait(addr, value, timeout, value3, Waiter::Plain(shared)),
        // The kernel takes 0 and less for 1.
        libc::FUTEX_WAKE => wake(shared.key(addr), (value as i32).max(1) as usize, ANYBODY),
        libc::FUTEX_WAKE_BITSET => wake(shared.key(addr), (value as i32).max(1) as usize, value3),
        // The limits of these are numbers as well, one of them in the place of the time.
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE if (value | timeout as u32) as i32 >= 0 => {
            let expected = (command == libc::FUTEX_CMP_REQUEUE).then_some(value3);
            requeue((addr, other), shared, most(value), most(timeout as u32), expected)
        }
        libc::FUTEX_REQUEUE | libc::FUTEX_CMP_REQUEUE => Err(libc::EINVAL),
        libc::FUTEX_WAKE_OP => {
            let more = (timeout as i32).max(1) as usize;
            wake_op((addr, other), shared, (value as i32).max(1) as usize, more, value3)
        }
        libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2 => lock_pi(addr, Some(timeout)),
        libc::FUTEX_TRYLOCK_PI => lock_pi(addr, None),
        libc::FUTEX_UNLOCK_PI => unlock_pi(addr),
        libc::FUTEX_WAIT_REQUEUE_PI if addr != other => wait(addr, value, timeout, ANYBODY, Waiter::ForLock(other)),
        libc::FUTEX_CMP_REQUEUE_PI if addr != other && value == 1 => {
            requeue_pi(addr, other, most(timeout as u32).saturating_add(1), value3)
        }
        libc::FUTEX_WAIT_REQUEUE_PI | libc::FUTEX_CMP_REQUEUE_PI => Err(libc::EINVAL),
        _ => Err(libc::ENOSYS),
    }
}

/// Whether a time limit makes sense. The kernel wants no negative seconds either.
fn is_limit(timeout: usize) -> bool {
    // SAFETY: the program's own variable.
    is_time(timeout) && unsafe { *(timeout as *const i64) } >= 0
}

fn load(addr: usize) -> u32 {
    Event::atomic(AccessKind::Load, addr, 4, Order::Relaxed).fresh().announce();
    full();
    *word(addr)
}

/// The result for a thread that was woken, or was not.
fn told(woken: bool) -> Outcome {
    if woken { Ok(0) } else { Err(libc::ETIMEDOUT) }
}

/// Waits for a lock that no other thread is given.
fn rest_for_lock(cell: usize, timeout: usize) -> Outcome {
    if timeout != 0 {
        return told(doze(cell));
    }
    sleep();
    Ok(0)
}

fn wait(addr: usize, expected: u32, timeout: usize, bits: u32, waiter: Waiter) -> Outcome {
    if bits == 0 || timeout != 0 && !is_limit(timeout) {
        return Err(libc::EINVAL);
    }
    let cell = cell(addr);
    lock(cell);
    let found = load(addr);
    if found == expected {
        let (key, lock) = match waiter {
            Waiter::Plain(shared) => (shared.key(addr), 0),
            Waiter::ForLock(lock) => (addr, lock),
        };
        join(current(), cell, key, bits, lock);
    }
    unlock(cell);
    match () {
        () if found != expected => Err(libc::EAGAIN),
        () if matches!(waiter, Waiter::ForLock(_)) => rest_for_lock(cell, timeout),
        () => told(rest(cell, timeout != 0)),
    }
}

fn wake(key: usize, most: usize, bits: u32) -> Outcome {
    if bits == 0 {
        return Err(libc::EINVAL);
    }
    Ok(waiters::wake(cell(key), key, bits, most))
}

/// Locks two queues, which may be one.
fn lock_both(a: usize, b: usize) {
    lock(a.min(b));
    if a != b {
        lock(a.max(b));
    }
}

fn unlock_both(a: usize, b: usize) {
    unlock(a.max(b));
    if a != b {
        unlock(a.min(b));
    }
}

/// Decides which threads that wait at a futex are taken, and takes them, while its queue is locked.
fn take(key: usize, most: usize, each: impl Fn(usize)) -> usize {
    decide(cell(key), key, ANYBODY, most);
    waiters::take(cell(key), key, ANYBODY, most, each)
}

fn requeue(
    (addr, other): (usize, usize),
    shared: Shared,
    wakes: usize,
    moves: usize,
    expected: Option<u32>,
) -> Outcome {
    let (from, to) = (cell(addr), cell(other));
    let [key, other] = [addr, other].map(|addr| shared.key(addr));
    lock_both(from, to);
    let same = expected.is_none_or(|expected| load(addr) == expected);
    let mut n = 0;
    if same {
        n += take(key, wakes, mark);
        n += if key == other {
            moves.min(count(from, key))
        } else {
            take(key, moves, |id| join(id, to, other, world().threads[id].own.waits.bits, 0))
        };
    }
    unlock_both(from, to);
    wake_marked();
    if same { Ok(n) } else { Err(libc::EAGAIN) }
}

fn wake_op((addr, other): (usize, usize), shared: Shared, wakes: usize, more: usize, operation: u32) -> Outcome {
    let signed = |bits: u32| (bits << 20) as i32 >> 20;
    let (mut argument, compared) = (signed(operation >> 12 & 0xfff) as u32, signed(operation & 0xfff));
    if operation >> 28 & 8 != 0 {
        argument = 1 << (argument & 31);
    }
    let (kind, comparison) = (operation >> 28 & 7, operation >> 24 & 15);
    if kind > 4 || comparison > 5 {
        return Err(libc::ENOSYS);
    }
    let (a, b) = (cell(addr), cell(other));
    lock_both(a, b);
    Event::sync(other, 4).announce();
    full();
    let old = *word(other);
    *word(other) = match kind {
        0 => argument,
        1 => old.wrapping_add(argument),
        2 => old | argument,
        3 => old & !argument,
        _ => old ^ argument,
    };
    let old = old as i32;
    let also = match comparison {
        0 => old == compared,
        1 => old != compared,
        2 => old < compared,
        3 => old <= compared,
        4 => old > compared,
        _ => old >= compared,
    };
    let n = take(shared.key(addr), wakes, mark) + if also { take(shared.key(other), more, mark) } else { 0 };
    unlock_both(a, b);
    wake_marked();
    Ok(n)
}

// Locks with priority inheritance.

/// The number that the system knows a thread by.
fn number(id: usize) -> u32 {
    crate::run::libc_hooks::thread_number(id) as u32
}

/// Gives a lock to a thread if nobody has it. Otherwise its word says that somebody waits. Belongs to a step on the word.
fn give(addr: usize, id: usize) -> bool {
    let free = *word(addr) & TID == 0;
    *word(addr) = if free { *word(addr) | number(id) } else { *word(addr) | WAITERS };
    free
}

fn lock_pi(addr: usize, timeout: Option<usize>) -> Outcome {
    if timeout.is_some_and(|timeout| timeout != 0 && !is_limit(timeout)) {
        return Err(libc::EINVAL);
    }
    let (cell, me) = (cell(addr), current());
    lock(cell);
    Event::sync(addr, 4).announce();
    full();
    let owner = *word(addr) & TID;
    let known = (0..world().known).any(|id| number(id) == owner);
    let outcome = match timeout {
        _ if owner == number(me) => Err(libc::EDEADLK),
        _ if owner != 0 && !known => Err(libc::ESRCH),
        None if owner != 0 => Err(libc::EAGAIN),
        _ => Ok(give(addr, me)),
    };
    if outcome == Ok(false) {
        join(me, cell, addr, ANYBODY, addr);
    }
    unlock(cell);
    if outcome? { Ok(0) } else { rest_for_lock(cell, timeout.unwrap_or(0)) }
}

fn unlock_pi(addr: usize) -> Outcome {
    let cell = cell(addr);
    lock(cell);
    Event::sync(addr, 4).announce();
    full();
    let owned = *word(addr) & TID == number(current());
    let heir = first(cell, addr, ANYBODY);
    if owned {
        *word(addr) = heir.map_or(0, |id| number(id) | WAITERS);
        heir.into_iter().for_each(mark);
    }
    unlock(cell);
    wake_marked();
    if owned { Ok(0) } else { Err(libc::EPERM) }
}

/// Threads that wait at `addr` get the lock that they want (one of them) or wait for it.
fn requeue_pi(addr: usize, lock: usize, most: usize, expected: u32) -> Outcome {
    let (from, to) = (cell(addr), cell(lock));
    lock_both(from, to);
    let same = load(addr) == expected;
    let mut heir = None;
    if same && let Some(id) = first(from, addr, ANYBODY) {
        Event::sync(lock, 4).announce();
        full();
        heir = give(lock, id).then_some(id);
        if count(from, addr) > 1 {
            *word(lock) |= WAITERS;
        }
    }
    heir.into_iter().for_each(mark);
    let mut n = usize::from(heir.is_some());
    let mut outcome = if same { Ok(()) } else { Err(libc::EAGAIN) };
    while n < most
        && outcome.is_ok()
        && let Some(id) = first(from, addr, ANYBODY)
    {
        if world().threads[id].own.waits.lock == lock {
            join(id, to, lock, ANYBODY, lock);
            n += 1;
        } else {
            // It waits for another lock.
            outcome = Err(libc::EINVAL);
        }
    }
    unlock_both(from, to);
    wake_marked();
    outcome.map(|()| n)
}
