//! Reader-writer locks, spin locks, barriers and semaphores.

use super::*;

// Reader-writer locks.

const WRITER: u32 = u32::MAX;

pub extern "C-unwind" fn rwlock_init(lock: usize, _: usize) -> c_int {
    // SAFETY: a lock of the program.
    unsafe { std::ptr::write_bytes(lock as *mut u8, 0, 56) };
    0
}

pub extern "C-unwind" fn rwlock_rdlock(lock: usize) -> c_int {
    Event::sync(lock, 4).while_not(u64::from(WRITER)).counted().announce();
    *word(lock) += 1;
    full();
    0
}

pub extern "C-unwind" fn rwlock_wrlock(lock: usize) -> c_int {
    Event::sync(lock, 4).until(0).announce();
    *word(lock) = WRITER;
    full();
    0
}

pub extern "C-unwind" fn rwlock_tryrdlock(lock: usize) -> c_int {
    Event::sync(lock, 4).announce();
    full();
    if *word(lock) == WRITER {
        return libc::EBUSY;
    }
    *word(lock) += 1;
    0
}

pub extern "C-unwind" fn rwlock_trywrlock(lock: usize) -> c_int {
    Event::sync(lock, 4).expects(0).announce();
    full();
    if *word(lock) != 0 {
        return libc::EBUSY;
    }
    *word(lock) = WRITER;
    0
}

pub extern "C-unwind" fn rwlock_timedrdlock(lock: usize, _: usize) -> c_int {
    if rwlock_tryrdlock(lock) == 0 { 0 } else { libc::ETIMEDOUT }
}

pub extern "C-unwind" fn rwlock_timedwrlock(lock: usize, _: usize) -> c_int {
    if rwlock_trywrlock(lock) == 0 { 0 } else { libc::ETIMEDOUT }
}

pub extern "C-unwind" fn rwlock_clockrdlock(lock: usize, _: c_int, _: usize) -> c_int {
    rwlock_timedrdlock(lock, 0)
}

pub extern "C-unwind" fn rwlock_clockwrlock(lock: usize, _: c_int, _: usize) -> c_int {
    rwlock_timedwrlock(lock, 0)
}

pub extern "C-unwind" fn rwlock_unlock(lock: usize) -> c_int {
    Event::sync(lock, 4).counted().announce();
    match *word(lock) {
        0 => fault::raise(format!("unlocks {}, which nobody holds", fault::name(lock))),
        WRITER => *word(lock) = 0,
        _ => *word(lock) -= 1,
    }
    full();
    0
}

// Spin locks.

pub extern "C-unwind" fn spin_init(lock: usize, _: c_int) -> c_int {
    *word(lock) = 0;
    0
}

pub extern "C-unwind" fn spin_lock(lock: usize) -> c_int {
    Event::sync(lock, 4).while_not(1).announce();
    *word(lock) = 1;
    full();
    0
}

pub extern "C-unwind" fn spin_trylock(lock: usize) -> c_int {
    Event::sync(lock, 4).expects(0).announce();
    full();
    if *word(lock) != 0 {
        return libc::EBUSY;
    }
    *word(lock) = 1;
    0
}

pub extern "C-unwind" fn spin_unlock(lock: usize) -> c_int {
    Event::sync(lock, 4).announce();
    *word(lock) = 0;
    full();
    0
}

// Barriers.

const GENERATION: usize = 4;
const WANTED: usize = 8;

pub extern "C-unwind" fn barrier_init(object: usize, _: usize, count: u32) -> c_int {
    if count == 0 {
        return libc::EINVAL;
    }
    (*word(object), *word(object + GENERATION), *word(object + WANTED)) = (0, 0, count);
    0
}

pub extern "C-unwind" fn barrier_wait(object: usize) -> c_int {
    Event::sync(object, 4).announce();
    let generation = *word(object + GENERATION);
    *word(object) += 1;
    full();
    if *word(object) == *word(object + WANTED) {
        *word(object) = 0;
        Event::sync(object + GENERATION, 4).announce();
        *word(object + GENERATION) += 1;
        full();
        return libc::PTHREAD_BARRIER_SERIAL_THREAD;
    }
    Event::sync(object + GENERATION, 4).while_not(u64::from(generation)).announce();
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
    *word(semaphore) = value;
    0
}

pub extern "C-unwind" fn sem_wait(semaphore: usize) -> c_int {
    Event::sync(semaphore, 4).while_not(0).counted().announce();
    *word(semaphore) -= 1;
    full();
    0
}

pub extern "C-unwind" fn sem_trywait(semaphore: usize) -> c_int {
    Event::sync(semaphore, 4).announce();
    full();
    if *word(semaphore) == 0 {
        return fails(libc::EAGAIN);
    }
    *word(semaphore) -= 1;
    0
}

pub extern "C-unwind" fn sem_timedwait(semaphore: usize, _: usize) -> c_int {
    if sem_trywait(semaphore) == 0 { 0 } else { fails(libc::ETIMEDOUT) }
}

pub extern "C-unwind" fn sem_clockwait(semaphore: usize, _: c_int, _: usize) -> c_int {
    sem_timedwait(semaphore, 0)
}

pub extern "C-unwind" fn sem_post(semaphore: usize) -> c_int {
    Event::sync(semaphore, 4).counted().announce();
    *word(semaphore) += 1;
    full();
    0
}

pub extern "C-unwind" fn sem_getvalue(semaphore: usize, out: *mut c_int) -> c_int {
    Event::sync(semaphore, 4).announce();
    // SAFETY: the program's own variable.
    unsafe { *out = *word(semaphore) as c_int };
    full();
    0
}
