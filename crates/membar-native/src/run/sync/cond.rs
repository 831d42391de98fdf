//! Condition variables: a count of changes, the number of waiting threads, and who they are.

use super::*;

const WAITING: usize = 4;
const QUEUE: usize = 8;
const ROOM: usize = 40;

pub extern "C-unwind" fn cond_init(cond: usize, _: usize) -> c_int {
    // SAFETY: a condition variable of the program.
    unsafe { std::ptr::write_bytes(cond as *mut u8, 0, 48) };
    0
}

fn queue(cond: usize) -> &'static mut [u8] {
    // SAFETY: a condition variable of the program.
    unsafe { std::slice::from_raw_parts_mut((cond + QUEUE) as *mut u8, ROOM) }
}

/// Removes a thread from the queue, or the first one.
fn leave(cond: usize, who: Option<usize>) -> Option<usize> {
    let waiting = *word(cond + WAITING) as usize;
    let queue = &mut queue(cond)[..waiting.min(ROOM)];
    let at = match who {
        Some(id) => queue.iter().position(|&other| usize::from(other) == id)?,
        None => 0,
    };
    let id = usize::from(*queue.get(at)?);
    queue.copy_within(at + 1.., at);
    *word(cond + WAITING) -= 1;
    *word(cond) += 1;
    Some(id)
}

fn enqueue(cond: usize, mutex: usize) -> usize {
    let id = current();
    if !held(mutex) {
        fault::raise(format!("waits for a condition without holding the mutex {}", fault::name(mutex)));
    }
    *word(control(id) + WOKEN) = 0;
    Event::sync(cond, 8).announce();
    let waiting = *word(cond + WAITING) as usize;
    if waiting == ROOM {
        fault::raise(format!("is one of more than {ROOM} threads that wait for one condition"));
    }
    queue(cond)[waiting] = id as u8;
    *word(cond + WAITING) += 1;
    *word(cond) += 1;
    full();
    id
}

pub extern "C-unwind" fn cond_wait(cond: usize, mutex: usize) -> c_int {
    let id = enqueue(cond, mutex);
    let depth = release_for_wait(mutex);
    Event::sync(control(id) + WOKEN, 4).while_not(0).always().announce();
    full();
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

pub extern "C-unwind" fn cond_timedwait(cond: usize, mutex: usize, _: usize) -> c_int {
    let id = enqueue(cond, mutex);
    let depth = release_for_wait(mutex);
    Event::sync(cond, 8).announce();
    let timed_out = leave(cond, Some(id)).is_some();
    full();
    match lock_after_wait(mutex, depth) {
        0 if timed_out => libc::ETIMEDOUT,
        result => result,
    }
}

pub extern "C-unwind" fn cond_clockwait(cond: usize, mutex: usize, _: c_int, _: usize) -> c_int {
    cond_timedwait(cond, mutex, 0)
}

fn wake(id: usize) {
    Event::sync(control(id) + WOKEN, 4).always().announce();
    *word(control(id) + WOKEN) = 1;
    full();
}

pub extern "C-unwind" fn cond_signal(cond: usize) -> c_int {
    Event::sync(cond, 8).announce();
    let first = leave(cond, None);
    full();
    if let Some(id) = first {
        wake(id);
    }
    0
}

pub extern "C-unwind" fn cond_broadcast(cond: usize) -> c_int {
    Event::sync(cond, 8).announce();
    let mut all = [0usize; ROOM];
    let mut n = 0;
    while let Some(id) = leave(cond, None) {
        all[n] = id;
        n += 1;
    }
    full();
    for &id in &all[..n] {
        wake(id);
    }
    0
}
