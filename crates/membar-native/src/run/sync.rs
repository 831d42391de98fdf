//! Threads, locks and everything else of POSIX that threads wait for each other with.
//!
//! Objects are kept in the memory that the program gives them, in a layout of our own that a zeroed or statically initialised object
//! fits. Each operation is one or a few steps ([`super::access`]) that synchronise memory fully (POSIX 4.12). An operation that would
//! block is disabled until it can be made, so no schedule has it fail first.
//!
//! * *mutex*: 0 free, 1 held; behind it depth, owner and kind.
//! * *condition variable*: the queue of waiting threads, first come first served. A waiting thread waits for a word of its own that
//!   the signalling thread sets. No spurious wake-ups.
//! * *reader-writer lock*: the number of readers, or all ones for a writer. *semaphore*: its value. *spin lock*: 0 or 1. *barrier*:
//!   arrived, generation, wanted. *once*: 0, 1 running, 2 done.
//! * *timed* operations do not wait: what can be had at once is had, otherwise the time is up. The scheduler decides how much others
//!   have done by then, so both outcomes are explored.

use super::access::{Event, plain};
use super::fault;
use super::layout::{ENDED, STARTED, WOKEN, control};
use super::registers::Registers;
use super::thread;
use super::tsan::barrier;
use super::world::world;
use membar_core::Barrier;
use std::ffi::c_int;

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: usize, state: &mut c_int) -> c_int;
    fn pthread_mutexattr_gettype(attributes: usize, kind: &mut c_int) -> c_int;
}

/// What a hook returns for a thread: never 0, and the same in every execution.
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

fn full() {
    barrier(Barrier::Full);
}

fn current() -> usize {
    world().current
}

pub extern "C-unwind" fn create(out: usize, attributes: usize, start: usize, arg: usize) -> c_int {
    let w = world();
    let parent = w.current;
    if w.module.base == 0 {
        fault::raise("limit: creates a thread before `main`".into());
    }
    let nth = w.threads[parent].kids;
    let Some(id) = w.thread_id(parent, nth) else {
        fault::raise(format!("creates more threads than the {} that membar runs", super::layout::MAX_THREADS - 1));
    };
    w.threads[parent].kids += 1;
    let detached = attributes != 0 && {
        let mut state = 0;
        // SAFETY: attributes that the program has initialised.
        unsafe { pthread_attr_getdetachstate(attributes, &mut state) };
        state == libc::PTHREAD_CREATE_DETACHED
    };
    let thread = &mut w.threads[id];
    (thread.start, thread.arg, thread.detached) = (start, arg, detached);
    if out != 0 {
        plain(out, 8, true);
        // SAFETY: the program's own variable.
        unsafe { *(out as *mut usize) = handle(id) };
    }
    Event::sync(control(id) + STARTED, 4).always().announce();
    *word(control(id) + STARTED) = 1;
    let w = world();
    w.unjoined += 1;
    w.alone = false;
    full();
    0
}

fn join_thread(target: usize) -> Option<usize> {
    let id = thread_of(target)?;
    if id == current() {
        fault::raise("joins itself".into());
    }
    if world().threads[id].joined || world().threads[id].detached {
        fault::raise("joins a thread that has been joined or detached".into());
    }
    Event::sync(control(id) + ENDED, 4).while_not(0).always().announce();
    let w = world();
    w.threads[id].joined = true;
    w.unjoined -= 1;
    w.alone = w.unjoined == 0 && w.current == 0;
    full();
    Some(w.threads[id].result)
}

pub extern "C-unwind" fn join(target: usize, result: *mut usize) -> c_int {
    let Some(value) = join_thread(target) else { return libc::ESRCH };
    if !result.is_null() {
        plain(result as usize, 8, true);
        // SAFETY: the program's own variable.
        unsafe { *result = value };
    }
    0
}

pub extern "C-unwind" fn detach(target: usize) -> c_int {
    match thread_of(target) {
        Some(id) => {
            world().threads[id].detached = true;
            0
        }
        None => libc::ESRCH,
    }
}

pub extern "C-unwind" fn this_thread() -> usize {
    handle(current())
}

pub extern "C-unwind" fn equal(a: usize, b: usize) -> c_int {
    c_int::from(a == b)
}

/// Ends the thread. First come the handlers of `pthread_cleanup_push`: in C each is a place to jump to. In C++ they, and
/// all destructors, would have to be run by an unwinder, but the program's own is out of reach, and ours has other tables.
pub extern "C-unwind" fn exit_thread(result: usize) -> ! {
    world().threads[current()].result = result;
    if world().threads[current()].cleanups.is_empty() {
        no_destructors();
    }
    clean_up()
}

unsafe extern "C-unwind" {
    fn _Unwind_Backtrace(each: usize, argument: usize) -> c_int;
    fn _Unwind_GetIP(context: usize) -> usize;
    fn _Unwind_GetLanguageSpecificData(context: usize) -> usize;
    fn siglongjmp(to: usize, value: c_int) -> !;
}

/// Refuses to go on if a frame of the thread has something to run when it is left.
fn no_destructors() {
    extern "C-unwind" fn each(context: usize, found: usize) -> c_int {
        // SAFETY: called by the unwinder with a frame, and by us with a flag.
        unsafe {
            if world().module.is_code(_Unwind_GetIP(context)) && _Unwind_GetLanguageSpecificData(context) != 0 {
                *(found as *mut bool) = true;
            }
        }
        0
    }
    let mut found = false;
    // SAFETY: `each` fits.
    unsafe { _Unwind_Backtrace(each as *const () as usize, &raw mut found as usize) };
    if found {
        fault::raise("limit: calls `pthread_exit` where destructors or handlers of C++ would have to run".into());
    }
}

/// Goes to the handler that was pushed last. It comes back by [`unwind_next`].
fn clean_up() -> ! {
    match world().threads[current()].cleanups.pop() {
        // SAFETY: the program has called `sigsetjmp` with it, in a frame that is still there.
        Some(buffer) => unsafe { siglongjmp(buffer, 1) },
        None => leave_thread(),
    }
}

pub extern "C-unwind" fn register_cancel(buffer: usize) {
    world().threads[current()].cleanups.push(buffer);
}

pub extern "C-unwind" fn unregister_cancel(_: usize) {
    world().threads[current()].cleanups.pop();
}

pub extern "C-unwind" fn unwind_next(_: usize) -> ! {
    clean_up()
}

fn leave_thread() -> ! {
    let result = world().threads[current()].result;
    thread::end(result);
    let w = world();
    let id = w.current;
    w.threads[id].stand = super::slot::Stand::Done;
    loop {
        world().threads[id].suspend();
    }
}

// Mutexes.

const DEPTH: usize = 4;
const OWNER: usize = 8;
const KIND: usize = 16;
const RECURSIVE: u32 = 1;
const ERROR_CHECK: u32 = 2;

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

fn held(mutex: usize) -> bool {
    *word(mutex) == 1 && *word(mutex + OWNER) as usize == current() + 1
}

fn taken(mutex: usize) {
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

// Condition variables: a count of changes, the number of waiting threads, and who they are.

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
    mutex_lock(mutex);
    *word(mutex + DEPTH) = depth;
    0
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
    mutex_lock(mutex);
    *word(mutex + DEPTH) = depth;
    if timed_out { libc::ETIMEDOUT } else { 0 }
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

// Reader-writer locks.

const WRITER: u32 = u32::MAX;

pub extern "C-unwind" fn rwlock_init(lock: usize, _: usize) -> c_int {
    // SAFETY: a lock of the program.
    unsafe { std::ptr::write_bytes(lock as *mut u8, 0, 56) };
    0
}

pub extern "C-unwind" fn rwlock_rdlock(lock: usize) -> c_int {
    Event::sync(lock, 4).while_not(u64::from(WRITER)).announce();
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
    Event::sync(lock, 4).announce();
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

fn fails(error: c_int) -> c_int {
    // SAFETY: the C library's own.
    unsafe { *libc::__errno_location() = error };
    -1
}

pub extern "C-unwind" fn sem_init(semaphore: usize, _: c_int, value: u32) -> c_int {
    *word(semaphore) = value;
    0
}

pub extern "C-unwind" fn sem_wait(semaphore: usize) -> c_int {
    Event::sync(semaphore, 4).while_not(0).announce();
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
    Event::sync(semaphore, 4).announce();
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

// Once.

pub extern "C-unwind" fn once(control: usize, function: usize) -> c_int {
    Event::sync(control, 4).expects(0).while_not(1).announce();
    full();
    if *word(control) == 2 {
        return 0;
    }
    *word(control) = 1;
    // SAFETY: that is how it is called. If it throws, it is tried again by whoever comes next.
    let undo = Undo(control, Registers::save());
    unsafe { thread::call_back(function, 0, 0) };
    std::mem::forget(undo);
    Event::sync(control, 4).announce();
    *word(control) = 2;
    full();
    0
}

/// Makes an interrupted `once` new again.
struct Undo(usize, Registers);

impl Drop for Undo {
    fn drop(&mut self) {
        self.1.restore();
        Event::sync(self.0, 4).announce();
        *word(self.0) = 0;
        full();
    }
}

/// The guard of a static variable within a function: byte 0 says that it is initialised, byte 4 on that somebody is at it.
pub extern "C-unwind" fn guard_acquire(guard: usize) -> c_int {
    Event::sync(guard + 4, 4).while_not(1).announce();
    *word(guard + 4) = 1;
    full();
    Event::atomic(membar_core::AccessKind::Load, guard, 1).announce();
    // SAFETY: a guard of the program.
    if unsafe { *(guard as *const u8) } == 0 {
        return 1;
    }
    guard_abort(guard);
    0
}

pub extern "C-unwind" fn guard_release(guard: usize) {
    Event::atomic(membar_core::AccessKind::Store, guard, 1).before(Barrier::Store).announce();
    // SAFETY: a guard of the program.
    unsafe { *(guard as *mut u8) = 1 };
    guard_abort(guard);
}

pub extern "C-unwind" fn guard_abort(guard: usize) {
    Event::sync(guard + 4, 4).announce();
    *word(guard + 4) = 0;
    full();
}

// Keys.

pub extern "C-unwind" fn key_create(key: *mut u32, function: usize) -> c_int {
    let w = world();
    // SAFETY: the program's own variable.
    unsafe { *key = w.key_dtors.len() as u32 };
    w.key_dtors.push((function != 0).then_some(function));
    0
}

pub extern "C-unwind" fn key_delete(key: u32) -> c_int {
    if let Some(function) = world().key_dtors.get_mut(key as usize) {
        *function = None;
    }
    0
}

pub extern "C-unwind" fn set_specific(key: u32, value: usize) -> c_int {
    let w = world();
    let id = w.current;
    let thread = &mut w.threads[id];
    let key = key as usize;
    if key >= w.key_dtors.len() {
        return libc::EINVAL;
    }
    if key >= thread.keys.len() {
        thread.keys.resize(key + 1, 0);
    }
    thread.dirty |= thread.keys[key] != value;
    thread.keys[key] = value;
    0
}

pub extern "C-unwind" fn get_specific(key: u32) -> usize {
    let w = world();
    w.threads[w.current].keys.get(key as usize).copied().unwrap_or(0)
}

// C11 threads: the same under other names, with other results.

const BUSY: c_int = 1;
const ERROR: c_int = 2;
const TIMED_OUT: c_int = 4;

pub extern "C-unwind" fn thrd_create(out: usize, start: usize, arg: usize) -> c_int {
    create(out, 0, start, arg)
}

pub extern "C-unwind" fn thrd_join(target: usize, result: *mut c_int) -> c_int {
    let Some(value) = join_thread(target) else { return ERROR };
    if !result.is_null() {
        plain(result as usize, 4, true);
        // SAFETY: the program's own variable.
        unsafe { *result = value as c_int };
    }
    0
}

pub extern "C-unwind" fn mtx_init(mutex: usize, kind: c_int) -> c_int {
    mutex_init(mutex, 0);
    *word(mutex + KIND) = kind as u32 & RECURSIVE;
    0
}

pub extern "C-unwind" fn mtx_trylock(mutex: usize) -> c_int {
    if mutex_trylock(mutex) == 0 { 0 } else { BUSY }
}

pub extern "C-unwind" fn mtx_timedlock(mutex: usize, _: usize) -> c_int {
    if mutex_trylock(mutex) == 0 { 0 } else { TIMED_OUT }
}

pub extern "C-unwind" fn cnd_timedwait(cond: usize, mutex: usize, _: usize) -> c_int {
    if cond_timedwait(cond, mutex, 0) == 0 { 0 } else { TIMED_OUT }
}

pub extern "C-unwind" fn cnd_init(cond: usize) -> c_int {
    cond_init(cond, 0)
}

pub extern "C-unwind" fn call_once(control: usize, function: usize) {
    once(control, function);
}

/// Does nothing but say so.
pub extern "C-unwind" fn fine() -> c_int {
    0
}

/// What `std::atomic::wait` and its kin are made of: waits while the word holds the value, until somebody wakes it.
pub fn futex(addr: usize, operation: c_int, value: u32) -> c_int {
    const WAIT: c_int = 0;
    const WAKE: c_int = 1;
    const WAIT_BITSET: c_int = 9;
    match operation & 0x7f {
        // Disabled until the word changes: whoever changes it and wakes nobody has made a mistake that this does not show.
        WAIT | WAIT_BITSET => {
            Event::sync(addr, 4).while_not(u64::from(value)).announce();
            full();
            0
        }
        WAKE => 0,
        other => fault::raise(format!("limit: uses futex operation {other}, which membar does not run")),
    }
}
