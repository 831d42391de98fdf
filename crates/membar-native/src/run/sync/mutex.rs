//! Mutexes: 0 free, 1 held; behind it depth, owner and kind. A robust one may also be 2, free since its owner ended, or 3, not to be
//! had any more: the next owner released it without calling it consistent.

use super::*;

unsafe extern "C" {
    fn pthread_mutexattr_gettype(attributes: usize, kind: &mut c_int) -> c_int;
    fn pthread_mutexattr_getrobust(attributes: usize, robust: &mut c_int) -> c_int;
}

pub(super) const DEPTH: usize = 4;
pub(super) const OWNER: usize = 8;
pub(super) const KIND: usize = 16;
pub(super) const RECURSIVE: u32 = 1;
pub(super) const ERROR_CHECK: u32 = 2;
const ROBUST: u32 = 16;
/// Its last owner ended, and the current one has not called it consistent.
const INCONSISTENT: usize = 20;
/// Where it was locked.
const SINCE: usize = 32;
const OWNER_DIED: u32 = 2;
const LOST: u32 = 3;

pub extern "C-unwind" fn mutex_init(mutex: usize, attributes: usize) -> c_int {
    let (mut kind, mut robust) = (0, 0);
    if attributes != 0 {
        // SAFETY: attributes that the program has initialised.
        unsafe {
            pthread_mutexattr_gettype(attributes, &mut kind);
            pthread_mutexattr_getrobust(attributes, &mut robust);
        }
    }
    MUTEX.begin(mutex);
    if let Some(held) = holder(mutex) {
        MUTEX.wrong(mutex, "initialises", held);
    }
    MUTEX.initialise(mutex);
    *word(mutex + KIND) = kind as u32 | if robust != 0 { ROBUST } else { 0 };
    0
}

pub extern "C-unwind" fn mutex_destroy(mutex: usize) -> c_int {
    MUTEX.destroy(mutex, || holder(mutex))
}

/// The holder of the mutex, in words: a thread that knows of it, whatever is in memory.
fn holder(mutex: usize) -> Option<Message> {
    let owner = (*word(mutex + OWNER) as usize).wrapping_sub(1);
    let holds = *word(mutex) == 1 && owner < world().known && world().threads[owner].held.contains(&mutex);
    let since = || Piece::Line(vec![*word(mutex + SINCE)]);
    holds.then(|| message!("which ", fault::who(owner), " holds since ", since()))
}

pub(super) fn held(mutex: usize) -> bool {
    *word(mutex) == 1 && *word(mutex + OWNER) as usize == current() + 1
}

fn robust(mutex: usize) -> bool {
    *word(mutex + KIND) & ROBUST != 0
}

/// The mutex is not held: takes it, unless it is lost. Returns the result for the caller.
pub(super) fn taken(mutex: usize) -> c_int {
    let result = match *word(mutex) {
        LOST => {
            full();
            return libc::ENOTRECOVERABLE;
        }
        OWNER_DIED => {
            *word(mutex + INCONSISTENT) = 1;
            libc::EOWNERDEAD
        }
        _ => 0,
    };
    *word(mutex) = 1;
    *word(mutex + OWNER) = current() as u32 + 1;
    *word(mutex + SINCE) = site(world());
    *word(mutex + DEPTH) = 1;
    world().threads[current()].held.push(mutex);
    full();
    result
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
    Event::sync(mutex, 4).takes().while_not(1).announce();
    MUTEX.used(mutex, "locks");
    taken(mutex)
}

pub extern "C-unwind" fn mutex_trylock(mutex: usize) -> c_int {
    if held(mutex) && *word(mutex + KIND) & 3 == RECURSIVE {
        *word(mutex + DEPTH) += 1;
        return 0;
    }
    // A robust one can be had in two states.
    let event = Event::sync(mutex, 4).tries();
    if robust(mutex) { event } else { event.expects(0) }.announce();
    MUTEX.used(mutex, "tries to lock");
    if *word(mutex) == 1 {
        full();
        return libc::EBUSY;
    }
    taken(mutex)
}

pub extern "C-unwind" fn mutex_timedlock(mutex: usize, time: usize) -> c_int {
    match mutex_trylock(mutex) {
        // Only threads that have to wait examine a time.
        libc::EBUSY if !is_time(time) => libc::EINVAL,
        libc::EBUSY => libc::ETIMEDOUT,
        other => other,
    }
}

pub extern "C-unwind" fn mutex_clocklock(mutex: usize, _: c_int, time: usize) -> c_int {
    mutex_timedlock(mutex, time)
}

pub extern "C-unwind" fn mutex_unlock(mutex: usize) -> c_int {
    let kind = *word(mutex + KIND) & 3;
    if !held(mutex) {
        if kind == RECURSIVE || kind == ERROR_CHECK {
            return libc::EPERM;
        }
        // Other threads decide who holds it: make a step, after which the answer is settled.
        MUTEX.begin(mutex);
        MUTEX.used(mutex, "unlocks");
        let state = holder(mutex).unwrap_or("which nobody holds".into());
        MUTEX.wrong(mutex, "unlocks", state);
    }
    *word(mutex + DEPTH) -= 1;
    if *word(mutex + DEPTH) > 0 {
        return 0;
    }
    Event::sync(mutex, 4).gives().announce();
    release(mutex);
    *word(mutex) = if std::mem::take(word(mutex + INCONSISTENT)) == 1 { LOST } else { 0 };
    full();
    0
}

/// The thread that runs does not hold the mutex any more.
fn release(mutex: usize) {
    *word(mutex + OWNER) = 0;
    let w = world();
    let id = w.current;
    let held = &mut w.threads[id].held;
    if let Some(i) = held.iter().rposition(|&other| other == mutex) {
        held.remove(i);
    }
}

pub extern "C-unwind" fn mutex_consistent(mutex: usize) -> c_int {
    if !robust(mutex) || !held(mutex) || *word(mutex + INCONSISTENT) == 0 {
        return libc::EINVAL;
    }
    *word(mutex + INCONSISTENT) = 0;
    0
}

/// The thread that runs ends, and may hold mutexes.
pub fn abandon_mutexes() {
    while let Some(&mutex) = world().threads[current()].held.last() {
        if !robust(mutex) {
            let since = Piece::Line(vec![*word(mutex + SINCE)]);
            fault::raise(message!("ends while it holds the mutex ", fault::name(mutex), ", locked at ", since));
        }
        Event::sync(mutex, 4).gives().at(END_SITE).announce();
        release(mutex);
        *word(mutex + DEPTH) = 0;
        // As often as it is not called consistent.
        *word(mutex + INCONSISTENT) = 0;
        *word(mutex) = OWNER_DIED;
        full();
    }
}
