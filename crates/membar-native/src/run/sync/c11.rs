//! C11 threads: the same under other names, with other results.

use super::*;

const BUSY: c_int = 1;
const ERROR: c_int = 2;
const TIMED_OUT: c_int = 4;

pub extern "C-unwind" fn thrd_create(out: usize, start: usize, arg: usize) -> c_int {
    create(out, 0, start, arg)
}

pub extern "C-unwind" fn thrd_join(target: usize, result: *mut c_int) -> c_int {
    let value = join_thread(target, !result.is_null());
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

fn timed(result: c_int) -> c_int {
    match result {
        0 => 0,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

pub extern "C-unwind" fn mtx_timedlock(mutex: usize, time: usize) -> c_int {
    timed(mutex_timedlock(mutex, time))
}

pub extern "C-unwind" fn cnd_timedwait(cond: usize, mutex: usize, time: usize) -> c_int {
    timed(cond_timedwait(cond, mutex, time))
}

pub extern "C-unwind" fn cnd_init(cond: usize) -> c_int {
    cond_init(cond, 0)
}

pub extern "C-unwind" fn call_once(control: usize, function: usize) {
    once(control, function);
}
