//! Mutexes: 0 free, 1 held; behind it depth, owner and kind.

use super::*;

unsafe extern "C" {
    fn pthread_mutexattr_gettype(attributes: usize, kind: &mut c_int) -> c_int;
}

pub(super) const DEPTH: usize = 4;
pub(super) const OWNER: usize = 8;
pub(super) const KIND: usize = 16;
pub(super) const RECURSIVE: u32 = 1;
pub(super) const ERROR_CHECK: u32 = 2;

pub extern "C-unwind" fn mutex_init(mutex: usize, attributes: usize) -> c_int {
    let mut kind = 0;
    if attributes != 0 {
        // SAFETY: attributes that the program has initialised.
        unsafe { pthread_mutexattr_gettype(attributes, &mut kind) };
    }
    // SAFETY: a mutex of the program.
    unsafe { std::ptr::write_bytes(mutex as *mut u8, 0, 40) };
    *word(mutex + KIND) = kind as u32;
    0
}

pub extern "C-unwind" fn mutex_destroy(mutex: usize) -> c_int {
    if *word(mutex) == 1 {
        fault::raise(format!("destroys {}, which is locked", fault::name(mutex)));
    }
    0
}

pub(super) fn held(mutex: usize) -> bool {
    *word(mutex) == 1 && *word(mutex + OWNER) as usize == current() + 1
}

pub(super) fn taken(mutex: usize) {
    *word(mutex) = 1;
    *word(mutex + OWNER) = current() as u32 + 1;
    *word(mutex + DEPTH) = 1;
    world().threads[current()].held.push(mutex);
    full();
}

pub extern "C-unwind" fn mutex_lock(mutex: usize) -> c_int {
    let kind = *word(mutex + KIND) & 3;
    if held(mutex) {
        if kind == RECURSIVE {
            *word(mutex + DEPTH) += 1;
            return 0;
        }
        if kind == ERROR_CHECK {
            return libc::EDEADLK;
        }
    }
    Event::sync(mutex, 4).while_not(1).announce();
    taken(mutex);
    0
}

pub extern "C-unwind" fn mutex_trylock(mutex: usize) -> c_int {
    if held(mutex) && *word(mutex + KIND) & 3 == RECURSIVE {
        *word(mutex + DEPTH) += 1;
        return 0;
    }
    Event::sync(mutex, 4).expects(0).announce();
    if *word(mutex) != 0 {
        full();
        return libc::EBUSY;
    }
    taken(mutex);
    0
}

pub extern "C-unwind" fn mutex_timedlock(mutex: usize, _: usize) -> c_int {
    if mutex_trylock(mutex) == 0 { 0 } else { libc::ETIMEDOUT }
}

pub extern "C-unwind" fn mutex_clocklock(mutex: usize, _: c_int, _: usize) -> c_int {
    mutex_timedlock(mutex, 0)
}

pub extern "C-unwind" fn mutex_unlock(mutex: usize) -> c_int {
    let kind = *word(mutex + KIND) & 3;
    if !held(mutex) {
        if kind == RECURSIVE || kind == ERROR_CHECK {
            return libc::EPERM;
        }
        let state = if *word(mutex) == 1 { "another thread holds" } else { "nobody holds" };
        fault::raise(format!("unlocks the mutex {}, which {state}", fault::name(mutex)));
    }
    *word(mutex + DEPTH) -= 1;
    if *word(mutex + DEPTH) > 0 {
        return 0;
    }
    *word(mutex + OWNER) = 0;
    let w = world();
    let id = w.current;
    let held = &mut w.threads[id].held;
    if let Some(i) = held.iter().rposition(|&other| other == mutex) {
        held.remove(i);
    }
    Event::sync(mutex, 4).announce();
    *word(mutex) = 0;
    full();
    0
}
