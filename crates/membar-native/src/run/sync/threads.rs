//! Creating, joining, detaching and leaving threads.

use super::*;
use crate::run::access::whole_range;
use crate::run::layout::{GUARD, STACK_SIZE, stack_base};
use crate::run::twins::asks_who_it_is;

unsafe extern "C" {
    fn pthread_attr_getdetachstate(attributes: usize, state: &mut c_int) -> c_int;
    fn pthread_attr_getstacksize(attributes: usize, size: &mut usize) -> c_int;
    fn pthread_attr_init(attributes: usize) -> c_int;
    fn pthread_attr_setdetachstate(attributes: usize, state: c_int) -> c_int;
    fn pthread_attr_setstack(attributes: usize, from: usize, size: usize) -> c_int;
}

pub extern "C-unwind" fn create(out: usize, attributes: usize, start: usize, arg: usize) -> c_int {
    let w = world();
    let parent = w.current;
    if w.module.base == 0 {
        fault::limit("creates a thread before `main`");
    }
    let nth = w.threads[parent].kids;
    let Some(id) = w.thread_id(parent, nth) else {
        fault::limit(format!("creates more than the {} threads that membar runs", MAX_THREADS - 1));
    };
    w.threads[parent].kids += 1;
    let creator = fault::user();
    let detached = attributes != 0 && {
        let mut state = 0;
        // SAFETY: attributes that the program has initialised.
        unsafe { pthread_attr_getdetachstate(attributes, &mut state) };
        state == libc::PTHREAD_CREATE_DETACHED
    };
    let (mask, born) = (w.threads[parent].mask, w.threads[parent].time());
    let thread = &mut w.threads[id];
    (thread.mask, thread.born) = (mask, born);
    (thread.start, thread.arg, thread.creator) = (start, arg, creator);
    thread.float = crate::run::float::now();
    let mut size = 0;
    if attributes != 0 {
        // SAFETY: as above; and a control block.
        unsafe {
            pthread_attr_getstacksize(attributes, &mut size);
            *((control(id) + STACK_WANTED) as *mut usize) = size;
        }
    }
    crate::run::stack::wanted(id, size);
    w.threads[id].ties.attributes = (detached, size);
    w.find_twin(parent, nth, id);
    if detached {
        note(control(id) + FATE, DETACHED);
    }
    Event::sync(control(id) + STARTED, 4).gives().always().announce();
    *word(control(id) + STARTED) = 1;
    let w = world();
    w.unjoined += 1;
    w.alone = false;
    w.threads[parent].ties.created();
    w.crowd();
    full();
    if out != 0 {
        // POSIX does not say whether the new thread runs before this.
        plain_within(out, 8, true);
        // SAFETY: the program's own variable.
        unsafe { *(out as *mut usize) = handle(id) };
        full();
    }
    0
}

/// The fate of a thread when it ends.
const JOINED: u32 = 1;
const DETACHED: u32 = 2;

/// Says what becomes of a thread, which can be said once.
fn decide(target: usize, verb: &str, fate: u32) -> usize {
    let Some(id) = thread_of(target) else { fault::raise(format!("{verb} a thread that does not exist")) };
    world().knows(id);
    let at = control(id) + FATE;
    Event::sync(at, 4).announce();
    full();
    if let Some((before, by)) = noted(at) {
        let before = if before == JOINED { "joined" } else { "detached" };
        fault::raise(message!(format!("{verb} {}, which has been {before} by ", fault::who(id)), by));
    }
    note(at, fate);
    id
}

/// Waits for a thread's end. `wanted` if somebody looks at its result.
pub(super) fn join_thread(target: usize, wanted: bool) -> usize {
    if target == handle(current()) {
        asks_who_it_is();
        fault::raise("joins itself");
    }
    let id = decide(target, "joins", JOINED);
    Event::sync(control(id) + ENDED, 4).takes().while_not(0).always().announce();
    let w = world();
    w.unjoined -= 1;
    // What it writes when it is alone again is a step where steps say what memory holds.
    w.alone = w.unjoined == 0 && w.current == 0 && !w.told.on;
    w.joins(id, wanted);
    waited_for(id);
    full();
    w.threads[id].result
}

/// What has passed for a thread has passed for who waited for its end.
fn waited_for(id: usize) {
    let w = world();
    let ended = w.threads[id].born.saturating_add(w.threads[id].time());
    let thread = &mut w.threads[w.current];
    thread.slept += ended.saturating_sub(thread.time());
}

/// Waits for a thread's end, whatever its fate: a scope of Rust's does.
pub(in crate::run) fn await_end(target: usize) {
    let Some(id) = thread_of(target) else { fault::raise("waits for a thread that does not exist") };
    world().knows(id);
    Event::sync(control(id) + ENDED, 4).takes().while_not(0).always().announce();
    let w = world();
    if !matches!(noted(control(id) + FATE), Some((JOINED, _))) {
        w.unjoined -= 1;
        w.alone = w.unjoined == 0 && w.current == 0;
        w.joins(id, false);
        waited_for(id);
    }
    full();
}

pub extern "C-unwind" fn join(target: usize, result: *mut usize) -> c_int {
    let value = join_thread(target, !result.is_null());
    if !result.is_null() {
        plain(result as usize, 8, true);
        // SAFETY: the program's own variable.
        unsafe { *result = value };
    }
    0
}

pub extern "C-unwind" fn detach(target: usize) -> c_int {
    decide(target, "detaches", DETACHED);
    0
}

/// The attributes of a thread: where its stack is, of the size that it asked for, and whether it is detached.
pub extern "C-unwind" fn attributes_of(target: usize, attributes: usize) -> c_int {
    asks_who_it_is();
    let Some(id) = thread_of(target) else { return libc::ESRCH };
    whole_range(attributes, size_of::<libc::pthread_attr_t>(), true);
    let most = STACK_SIZE - GUARD;
    // SAFETY: a control block, and the program's own variable.
    unsafe {
        let wanted = *((control(id) + STACK_WANTED) as *const usize);
        let size = if wanted == 0 { most } else { wanted.min(most) };
        pthread_attr_init(attributes);
        pthread_attr_setstack(attributes, stack_base(id) - size, size);
        if matches!(noted(control(id) + FATE), Some((DETACHED, _))) {
            pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED);
        }
    }
    0
}

pub extern "C-unwind" fn this_thread() -> usize {
    asks_who_it_is();
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

/// Refuses to continue if a frame of the thread has something to run when it is left.
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
        fault::limit("calls `pthread_exit` where destructors or handlers of C++ would have to run");
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
    if current() == 0 {
        thread::exit_after_others();
    }
    crate::run::coroutine::Thread::rest(Stand::Done)
}
