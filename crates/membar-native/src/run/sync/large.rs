//! Atomic objects of sizes that the machine has no instructions for.
//!
//! The compiler calls functions of `libatomic`, which take a lock. Here each call is one step on a word that stands for all such
//! objects: who changes one counts it up. As with the lock, memory is synchronised fully, whatever order was asked for. That the
//! bytes are accessed is no step: whoever accesses them in another way at the same time has no defined meaning anyway.

use super::*;
use crate::run::access::check;
use crate::run::layout::LARGE_ATOMICS;

const VERSION: usize = control(0) + LARGE_ATOMICS;

/// One step that reads the object, or also changes it; `change` makes it and says whether it did.
fn step(object: usize, kind: AccessKind, change: impl FnOnce() -> bool) -> bool {
    check(object, kind != AccessKind::Load);
    Event::atomic(kind, VERSION, 4).before(Barrier::Full).announce();
    check(object, kind != AccessKind::Load);
    let changed = change();
    *word(VERSION) += u32::from(changed);
    full();
    changed
}

fn copy(to: usize, from: usize, size: usize) {
    // SAFETY: objects of the program, of that size; a bad pointer is a fault of the program.
    unsafe { std::ptr::copy(from as *const u8, to as *mut u8, size) };
}

fn equal(a: usize, b: usize, size: usize) -> bool {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(a as *const u8, size) == std::slice::from_raw_parts(b as *const u8, size) }
}

pub extern "C-unwind" fn large_load(size: usize, object: usize, result: usize, _order: c_int) {
    step(object, AccessKind::Load, || {
        copy(result, object, size);
        false
    });
}

pub extern "C-unwind" fn large_store(size: usize, object: usize, value: usize, _order: c_int) {
    step(object, AccessKind::Rmw, || {
        copy(object, value, size);
        true
    });
}

pub extern "C-unwind" fn large_exchange(size: usize, object: usize, value: usize, result: usize, _order: c_int) {
    step(object, AccessKind::Rmw, || {
        let mut at = 0;
        // In pieces: `result` may be where `value` is.
        while at < size {
            let piece = (size - at).min(16);
            let mut new = [0u8; 16];
            copy(new.as_mut_ptr() as usize, value + at, piece);
            copy(result + at, object + at, piece);
            copy(object + at, new.as_ptr() as usize, piece);
            at += piece;
        }
        true
    });
}

pub extern "C-unwind" fn large_compare_exchange(
    size: usize,
    object: usize,
    expected: usize,
    value: usize,
    _success: c_int,
    _failure: c_int,
) -> bool {
    step(object, AccessKind::Rmw, || {
        let same = equal(object, expected, size);
        if same {
            copy(object, value, size);
        } else {
            copy(expected, object, size);
        }
        same
    })
}

pub extern "C-unwind" fn is_lock_free(size: usize, _object: usize) -> bool {
    matches!(size, 1 | 2 | 4 | 8 | 16)
}
