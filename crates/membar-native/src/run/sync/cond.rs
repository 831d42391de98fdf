//! Condition variables: each is the cell of a queue ([`super::waiters`]).

use super::waiters::{ANYBODY, changed, enter, first, join, rest, wake};
use super::*;

pub extern "C-unwind" fn cond_init(cond: usize, _: usize) -> c_int {
    CONDITION.begin(cond);
    if let Some(waits) = waits(cond) {
        CONDITION.wrong(cond, "initialises", waits);
    }
    CONDITION.initialise(cond);
    0
}

/// No thread may wait. One that has been woken and has not come back yet does not wait.
pub extern "C-unwind" fn cond_destroy(cond: usize) -> c_int {
    CONDITION.destroy(cond, || waits(cond))
}

/// A waiting thread, in words.
fn waits(cond: usize) -> Option<Message> {
    first(cond, cond, ANYBODY).map(|id| message!("which ", fault::who(id), " waits for"))
}

fn enqueue(cond: usize, mutex: usize) {
    if !held(mutex) {
        fault::raise(message!("waits for a condition without holding the mutex ", fault::name(mutex)));
    }
    enter(cond);
    CONDITION.used(cond, "waits for");
    join(current(), cond, cond, ANYBODY, 0);
    changed(cond);
}

pub extern "C-unwind" fn cond_wait(cond: usize, mutex: usize) -> c_int {
    enqueue(cond, mutex);
    let depth = release_for_wait(mutex);
    rest(cond, false);
    lock_after_wait(mutex, depth)
}

/// Locks a mutex as often as it was locked before a wait.
fn lock_after_wait(mutex: usize, depth: u32) -> c_int {
    let result = mutex_lock(mutex);
    if held(mutex) {
        *word(mutex + DEPTH) = depth;
    }
    result
}

/// Unlocks a mutex however often it was locked.
fn release_for_wait(mutex: usize) -> u32 {
    let depth = std::mem::replace(word(mutex + DEPTH), 1);
    mutex_unlock(mutex);
    depth
}

pub extern "C-unwind" fn cond_timedwait(cond: usize, mutex: usize, time: usize) -> c_int {
    if !is_time(time) {
        return libc::EINVAL;
    }
    enqueue(cond, mutex);
    let depth = release_for_wait(mutex);
    let woken = rest(cond, true);
    match lock_after_wait(mutex, depth) {
        0 if !woken => {
            time_is_up(time);
            libc::ETIMEDOUT
        }
        result => result,
    }
}

pub extern "C-unwind" fn cond_clockwait(cond: usize, mutex: usize, _: c_int, time: usize) -> c_int {
    cond_timedwait(cond, mutex, time)
}

pub extern "C-unwind" fn cond_signal(cond: usize) -> c_int {
    wake(cond, cond, ANYBODY, 1);
    0
}

pub extern "C-unwind" fn cond_broadcast(cond: usize) -> c_int {
    wake(cond, cond, ANYBODY, usize::MAX);
    0
}
