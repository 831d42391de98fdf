//! Atomic objects of sizes that the machine has no instructions for.
//!
//! The compiler calls functions of `libatomic`, which take a lock, copy and compare bytes, and give the lock back. So it is here, with
//! one lock for all of them; the bytes are accessed as by `memcpy` and `memcmp`, so any other access to them is seen.
//!
//! clang calls them for 16 bytes too. There, and for every size that the machine has instructions for, `libatomic` takes no lock, so the
//! access is that of those instructions.

use super::*;
use crate::run::access::plain_within;
use crate::run::layout::LARGE_ATOMICS;
use crate::run::libc_hooks::{memcmp, memcpy};
use crate::run::tsan;

const LOCK: usize = control(0) + LARGE_ATOMICS;

/// Does an expression with the type of this size, if the machine has instructions for it.
macro_rules! lock_free {
    ($size:expr, $object:expr, $ty:ident => $work:expr) => {
        match $size {
            1 | 2 | 4 | 8 | 16 if $object % $size != 0 => {}
            1 => {
                return {
                    type $ty = u8;
                    $work
                }
            }
            2 => {
                return {
                    type $ty = u16;
                    $work
                }
            }
            4 => {
                return {
                    type $ty = u32;
                    $work
                }
            }
            8 => {
                return {
                    type $ty = u64;
                    $work
                }
            }
            16 => {
                return {
                    type $ty = u128;
                    $work
                }
            }
            _ => {}
        }
    };
}

/// Announces an access to a value of the caller's, piece by piece.
fn announced<T>(at: usize, write: bool) {
    for piece in (0..size_of::<T>()).step_by(8) {
        plain_within(at + piece, size_of::<T>().min(8), write);
    }
}

/// A value of the caller's.
fn taken<T>(at: usize) -> T {
    announced::<T>(at, false);
    // SAFETY: an object of the program, of that size; a bad pointer is a fault of the program.
    unsafe { (at as *const T).read_unaligned() }
}

/// Gives the caller a value.
fn given<T>(at: usize, value: T) {
    announced::<T>(at, true);
    // SAFETY: as above.
    unsafe { (at as *mut T).write_unaligned(value) }
}

fn locked<T>(work: impl FnOnce() -> T) -> T {
    Event::sync(LOCK, 4).takes().while_not(1).announce();
    *word(LOCK) = 1;
    full();
    let result = work();
    Event::sync(LOCK, 4).gives().announce();
    *word(LOCK) = 0;
    full();
    result
}

pub extern "C-unwind" fn large_load(size: usize, object: usize, result: usize, order: c_int) {
    lock_free!(size, object, T => given(result, tsan::atomic_load(object as *const T, order)));
    locked(|| memcpy(result, object, size));
}

pub extern "C-unwind" fn large_store(size: usize, object: usize, value: usize, order: c_int) {
    lock_free!(size, object, T => tsan::atomic_store(object as *mut T, taken(value), order));
    locked(|| memcpy(object, value, size));
}

pub extern "C-unwind" fn large_exchange(size: usize, object: usize, value: usize, result: usize, order: c_int) {
    lock_free!(size, object, T => given(result, tsan::atomic_exchange(object as *mut T, taken(value), order)));
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
    success: c_int,
    failure: c_int,
) -> bool {
    lock_free!(size, object, T => {
        let (wanted, new): (T, T) = (taken(expected), taken(value));
        let old = tsan::atomic_compare_exchange_val(object as *mut T, wanted, new, success, failure);
        if old != wanted {
            given(expected, old);
        }
        old == wanted
    });
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
