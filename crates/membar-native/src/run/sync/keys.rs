//! Values that each thread has for itself.

use super::*;

/// How many keys there may be at a time.
const MOST: usize = 1024;

/// Whether there is such a key.
fn is_key(key: u32) -> bool {
    world().key_dtors.get(key as usize).is_some_and(Option::is_some)
}

pub extern "C-unwind" fn key_create(key: *mut u32, function: usize) -> c_int {
    let live = |keys: &[Option<usize>]| keys.iter().filter(|key| key.is_some()).count();
    if live(&world().key_dtors) >= MOST {
        return libc::EAGAIN;
    }
    plain_within(key as usize, 4, true);
    let w = world();
    // SAFETY: the program's own variable.
    unsafe { *key = w.key_dtors.len() as u32 };
    w.key_dtors.push(Some(function));
    0
}

pub extern "C-unwind" fn key_delete(key: u32) -> c_int {
    if !is_key(key) {
        return libc::EINVAL;
    }
    world().key_dtors[key as usize] = None;
    0
}

pub extern "C-unwind" fn set_specific(key: u32, value: usize) -> c_int {
    if !is_key(key) {
        return libc::EINVAL;
    }
    let w = world();
    let id = w.current;
    let thread = &mut w.threads[id];
    let key = key as usize;
    if key >= thread.keys.len() {
        thread.keys.resize(key + 1, 0);
    }
    thread.dirty |= thread.keys[key] != value;
    thread.keys[key] = value;
    0
}

pub extern "C-unwind" fn get_specific(key: u32) -> usize {
    if !is_key(key) {
        return 0;
    }
    let w = world();
    w.threads[w.current].keys.get(key as usize).copied().unwrap_or(0)
}
