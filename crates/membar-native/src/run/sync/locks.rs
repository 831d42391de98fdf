//! Reader-writer locks, spin locks and semaphores.

use super::*;

unsafe extern "C" {
    fn pthread_rwlockattr_getkind_np(attributes: usize, kind: &mut c_int) -> c_int;
}

// Reader-writer locks.

const WRITER: u32 = u32::MAX;

// A lock that prefers writers has a gate as well: how many writers have it or wait for it. Readers pass it first, and wait while
// there are any, even those that hold the lock already. A reader that has passed and is overtaken by a writer is one that came earlier.

/// Where the C library has the kind, which a static initialiser sets; the kind that prefers writers; the gate.
const LOCK_KIND: usize = 48;
const PREFERS_WRITERS: u32 = 2;
const GATE: usize = 4;

fn prefers_writers(lock: usize) -> bool {
    *word(lock + LOCK_KIND) == PREFERS_WRITERS
}

/// A writer comes, or goes before it gives the lock back: then it may be no more.
fn at_gate(lock: usize, change: i32) {
    if prefers_writers(lock) {
        Event::sync(lock + GATE, 4).announce();
        *word(lock + GATE) = word(lock + GATE).wrapping_add_signed(change);
        full();
    }
}

/// Whether a reader may pass, if it does not wait.
fn is_open(lock: usize) -> bool {
    if !prefers_writers(lock) {
        return true;
    }
    Event::sync(lock + GATE, 4).announce();
    full();
    *word(lock + GATE) == 0
}

pub extern "C-unwind" fn rwlock_init(lock: usize, attributes: usize) -> c_int {
    let mut kind = 0;
    if attributes != 0 {
        plain_within(attributes, 8, false);
        // SAFETY: attributes that the program has initialised.
        unsafe { pthread_rwlockattr_getkind_np(attributes, &mut kind) };
    }
    RWLOCK.begin(lock);
    if let (true, Some(held)) = (RWLOCK.is_initialised(lock), locked_by(lock)) {
        RWLOCK.wrong(lock, "initialises", held);
    }
    RWLOCK.initialise(lock);
    *word(lock + LOCK_KIND) = kind as u32;
    0
}

pub extern "C-unwind" fn rwlock_destroy(lock: usize) -> c_int {
    RWLOCK.destroy(lock, || locked_by(lock))
}

/// The note of the thread that locked it last, and where.
const LAST: usize = 24;
const FOR_READING: u32 = 5;
const FOR_WRITING: u32 = 6;

/// The thread that has locked it, in words.
fn locked_by(lock: usize) -> Option<Message> {
    if *word(lock) == 0 {
        return None;
    }
    Some(match noted(lock + LAST) {
        Some((_, by)) => message!("which has been locked by ", by),
        None => "which has been locked".into(),
    })
}

/// Whether the thread that runs has locked it for writing.
fn writes(lock: usize) -> bool {
    *word(lock) == WRITER && *word(lock + LAST) == NOTE | FOR_WRITING << 8 | current() as u32
}

pub extern "C-unwind" fn rwlock_rdlock(lock: usize) -> c_int {
    if writes(lock) {
        return libc::EDEADLK;
    }
    if prefers_writers(lock) {
        Event::sync(lock + GATE, 4).until(0).announce();
        full();
    }
    Event::sync(lock, 4).takes().while_not(u64::from(WRITER)).counted().announce();
    RWLOCK.used(lock, "locks");
    *word(lock) += 1;
    note(lock + LAST, FOR_READING);
    full();
    0
}

pub extern "C-unwind" fn rwlock_wrlock(lock: usize) -> c_int {
    if writes(lock) {
        return libc::EDEADLK;
    }
    at_gate(lock, 1);
    Event::sync(lock, 4).takes().until(0).announce();
    RWLOCK.used(lock, "locks");
    *word(lock) = WRITER;
    note(lock + LAST, FOR_WRITING);
    full();
    0
}

pub extern "C-unwind" fn rwlock_tryrdlock(lock: usize) -> c_int {
    if !is_open(lock) {
        RWLOCK.used(lock, "tries to lock");
        return libc::EBUSY;
    }
    Event::sync(lock, 4).tries().announce();
    full();
    RWLOCK.used(lock, "tries to lock");
    if *word(lock) == WRITER {
        return libc::EBUSY;
    }
    *word(lock) += 1;
    note(lock + LAST, FOR_READING);
    0
}

pub extern "C-unwind" fn rwlock_trywrlock(lock: usize) -> c_int {
    Event::sync(lock, 4).tries().expects(0).announce();
    full();
    RWLOCK.used(lock, "tries to lock");
    if *word(lock) != 0 {
        return libc::EBUSY;
    }
    *word(lock) = WRITER;
    note(lock + LAST, FOR_WRITING);
    at_gate(lock, 1);
    0
}

pub extern "C-unwind" fn rwlock_timedrdlock(lock: usize, time: usize) -> c_int {
    if !is_time(time) {
        return libc::EINVAL;
    }
    if rwlock_tryrdlock(lock) == 0 { 0 } else { libc::ETIMEDOUT }
}

pub extern "C-unwind" fn rwlock_timedwrlock(lock: usize, time: usize) -> c_int {
    if !is_time(time) {
        return libc::EINVAL;
    }
    if rwlock_trywrlock(lock) == 0 { 0 } else { libc::ETIMEDOUT }
}

pub extern "C-unwind" fn rwlock_clockrdlock(lock: usize, _: c_int, time: usize) -> c_int {
    rwlock_timedrdlock(lock, time)
}

pub extern "C-unwind" fn rwlock_clockwrlock(lock: usize, _: c_int, time: usize) -> c_int {
    rwlock_timedwrlock(lock, time)
}

pub extern "C-unwind" fn rwlock_unlock(lock: usize) -> c_int {
    if *word(lock) == WRITER {
        at_gate(lock, -1);
    }
    Event::sync(lock, 4).gives().counted().announce();
    RWLOCK.used(lock, "unlocks");
    match *word(lock) {
        0 => RWLOCK.wrong(lock, "unlocks", "which nobody holds"),
        WRITER => *word(lock) = 0,
        _ => *word(lock) -= 1,
    }
    full();
    0
}

// Spin locks.

pub extern "C-unwind" fn spin_lock(lock: usize) -> c_int {
    Event::sync(lock, 4).takes().while_not(u64::from(SPIN_HELD)).announce();
    spin_used(lock, "locks");
    *word(lock) = SPIN_HELD;
    full();
    0
}

pub extern "C-unwind" fn spin_trylock(lock: usize) -> c_int {
    Event::sync(lock, 4).tries().expects(u64::from(SPIN_FREE)).announce();
    full();
    spin_used(lock, "tries to lock");
    if *word(lock) != SPIN_FREE {
        return libc::EBUSY;
    }
    *word(lock) = SPIN_HELD;
    0
}

pub extern "C-unwind" fn spin_unlock(lock: usize) -> c_int {
    Event::sync(lock, 4).gives().announce();
    spin_used(lock, "unlocks");
    if *word(lock) == SPIN_FREE {
        fault::raise(message!("unlocks the spin lock ", fault::name(lock), ", which nobody holds"));
    }
    *word(lock) = SPIN_FREE;
    full();
    0
}

// Semaphores.

pub(super) fn fails(error: c_int) -> c_int {
    // SAFETY: the C library's own.
    unsafe { *libc::__errno_location() = error };
    -1
}

pub extern "C-unwind" fn sem_init(semaphore: usize, _: c_int, value: u32) -> c_int {
    if value > SEM_VALUE_MAX {
        return fails(libc::EINVAL);
    }
    SEMAPHORE.begin(semaphore);
    SEMAPHORE.initialise(semaphore);
    *word(semaphore) = value;
    0
}

const SEM_VALUE_MAX: u32 = i32::MAX as u32;

pub extern "C-unwind" fn sem_destroy(semaphore: usize) -> c_int {
    SEMAPHORE.destroy(semaphore, || None);
    // Waiting threads continue, and find that it is gone.
    *word(semaphore) = u32::MAX;
    0
}

pub extern "C-unwind" fn sem_wait(semaphore: usize) -> c_int {
    Event::sync(semaphore, 4).takes().while_not(0).counted().announce();
    SEMAPHORE.used(semaphore, "waits for");
    *word(semaphore) -= 1;
    full();
    0
}

pub extern "C-unwind" fn sem_trywait(semaphore: usize) -> c_int {
    Event::sync(semaphore, 4).tries().announce();
    full();
    SEMAPHORE.used(semaphore, "tries to get");
    if *word(semaphore) == 0 {
        return fails(libc::EAGAIN);
    }
    *word(semaphore) -= 1;
    0
}

pub extern "C-unwind" fn sem_timedwait(semaphore: usize, time: usize) -> c_int {
    if !is_time(time) {
        return fails(libc::EINVAL);
    }
    if sem_trywait(semaphore) == 0 { 0 } else { fails(libc::ETIMEDOUT) }
}

pub extern "C-unwind" fn sem_clockwait(semaphore: usize, _: c_int, time: usize) -> c_int {
    sem_timedwait(semaphore, time)
}

pub extern "C-unwind" fn sem_post(semaphore: usize) -> c_int {
    Event::sync(semaphore, 4).gives().counted().announce();
    full();
    SEMAPHORE.used(semaphore, "posts to");
    if *word(semaphore) == SEM_VALUE_MAX {
        return fails(libc::EOVERFLOW);
    }
    *word(semaphore) += 1;
    0
}

pub extern "C-unwind" fn sem_getvalue(semaphore: usize, out: *mut c_int) -> c_int {
    Event::sync(semaphore, 4).tries().announce();
    SEMAPHORE.used(semaphore, "asks for the value of");
    let value = *word(semaphore) as c_int;
    full();
    plain(out as usize, 4, true);
    // SAFETY: the program's own variable.
    unsafe { *out = value };
    0
}
