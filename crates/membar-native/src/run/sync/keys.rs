//! Values that each thread has for itself.

use super::*;

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
