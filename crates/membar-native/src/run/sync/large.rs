//! Atomic objects of sizes that the machine has no instructions for.
//!
//! The compiler calls functions of `libatomic`, which take a lock, copy and compare bytes, and give the lock back. So it is here, with
//! one lock for all of them; the bytes are accessed as by `memcpy` and `memcmp`, so any other access to them is seen.

use super::*;
use crate::run::access::plain_within;
use crate::run::layout::LARGE_ATOMICS;
use crate::run::libc_hooks::{memcmp, memcpy};

const LOCK: usize = control(0) + LARGE_ATOMICS;

fn locked<T>(work: impl FnOnce() -> T) -> T {
    Event::sync(LOCK, 4).while_not(1).announce();
    *word(LOCK) = 1;
    full();
    let result = work();
    Event::sync(LOCK, 4).announce();
    *word(LOCK) = 0;
    full();
    result
}

pub extern "C-unwind" fn large_load(size: usize, object: usize, result: usize, _order: c_int) {
    locked(|| memcpy(result, object, size));
}

pub extern "C-unwind" fn large_store(size: usize, object: usize, value: usize, _order: c_int) {
    locked(|| memcpy(object, value, size));
}

pub extern "C-unwind" fn large_exchange(size: usize, object: usize, value: usize, result: usize, _order: c_int) {
    /// Reads or writes a piece of memory, as the program would.
    fn access(at: usize, bytes: &mut [u8], write: bool) {
        plain_within(at, bytes.len(), write);
        // SAFETY: objects of the program, of that size; a bad pointer is a fault of the program.
        let memory = unsafe { std::slice::from_raw_parts_mut(at as *mut u8, bytes.len()) };
        if write { memory.copy_from_slice(bytes) } else { bytes.copy_from_slice(memory) }
    }
    // Piece by piece: `result` may be where `value` is.
    locked(|| {
        let mut at = 0;
        while at < size {
            let n = (8 - (object + at) % 8).min(size - at);
            let (mut old, mut new) = ([0; 8], [0; 8]);
            access(object + at, &mut old[..n], false);
            access(value + at, &mut new[..n], false);
            access(result + at, &mut old[..n], true);
            access(object + at, &mut new[..n], true);
            at += n;
        }
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
    locked(|| {
        let same = memcmp(object, expected, size) == 0;
        if same {
            memcpy(object, value, size)
        } else {
            memcpy(expected, object, size)
        };
        same
    })
}

pub extern "C-unwind" fn is_lock_free(size: usize, _object: usize) -> bool {
    matches!(size, 1 | 2 | 4 | 8 | 16)
}
