//! The environment, which is restored after each execution.
//!
//! # Problem
//!
//! It belongs to all threads, and the C library's list of it is memory that membar does not see.
//!
//! # Algorithm
//!
//! A cell stands for all of it. To change the environment is an interlocked step on that, since the C library takes a lock; to
//! look something up is a load, since it takes none.
//!
//! # Guarantees
//!
//! The result of `getenv` depends on the order of the steps. A string that `putenv` makes part of the environment is the program's own
//! memory: looking it up reads that. Reads of the list itself (`environ`) are not seen here.
//!
//! # Complexity
//!
//! One step a call, if several threads call and one of them changes something.

use super::*;
use crate::run::access::Event;
use crate::run::layout::ENVIRONMENT;
use crate::run::opaque::is_writable;
use crate::run::tsan::barrier;
use membar_core::{Barrier, Order};

/// The original environment, once the program has changed it: the list, and what it held.
static KEPT: Mutex<Option<(usize, Vec<usize>)>> = Mutex::new(None);
static CHANGED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    static mut environ: *mut usize;
}

/// Fills the copy of a variable of the C library that is a pointer.
pub extern "C-unwind" fn copy_variable(to: *mut usize, name: *const c_char) {
    // SAFETY: made by the linker: a word, and the name of a variable of the C library that is one too.
    unsafe {
        let from = libc::dlsym(libc::RTLD_DEFAULT, name).cast::<usize>();
        if !from.is_null() {
            *to = *from;
        }
    }
}

fn keep_environment() {
    CHANGED.store(true, Ordering::Relaxed);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.get_or_insert_with(|| {
        let mut entries = Vec::new();
        // SAFETY: the C library's own list, which ends with a null pointer.
        unsafe {
            let list = environ;
            while !list.is_null() && entries.last() != Some(&0) {
                entries.push(*list.add(entries.len()));
            }
            (list as usize, entries)
        }
    });
}

/// Whether it is another one than at the beginning.
pub fn is_environment_changed() -> bool {
    CHANGED.load(Ordering::Relaxed)
}

/// Puts the environment back.
#[inline]
pub fn restore_environment() {
    if CHANGED.load(Ordering::Relaxed) {
        CHANGED.store(false, Ordering::Relaxed);
        if let Some((list, entries)) = &*KEPT.lock().unwrap_or_else(PoisonError::into_inner) {
            // SAFETY: the list is as long as it was; the C library changes it in place or makes another one.
            unsafe {
                std::ptr::copy_nonoverlapping(entries.as_ptr(), *list as *mut usize, entries.len());
                environ = *list as *mut usize;
            }
        }
    }
}

/// A thread changes it.
fn change() {
    keep_environment();
    Event::sync(ENVIRONMENT, 4).announce();
    // SAFETY: a word of a control block, which is mapped.
    unsafe { *(ENVIRONMENT as *mut u32) += 1 };
    barrier(Barrier::Full);
}

/// Reads a string that the program passes.
fn reads(text: *const c_char) {
    if !text.is_null() {
        strlen(text as usize);
    }
}

/// Where `errno` is. Each thread finds its own value there.
pub extern "C-unwind" fn errno_location() -> *mut c_int {
    let w = world();
    w.this().own.asked_errno = true;
    w.errno
}

pub extern "C-unwind" fn getenv(name: *const c_char) -> *mut c_char {
    reads(name);
    Event::atomic(AccessKind::Load, ENVIRONMENT, 4, Order::Acquire).fresh().announce();
    // SAFETY: the program asked for this.
    let found = unsafe { libc::getenv(name) };
    if found.is_null() || !is_writable(found as usize) {
        return found;
    }
    // Given by `putenv`.
    // SAFETY: as above.
    let len = unsafe { libc::strlen(name) } + 1;
    whole_range(found as usize - len, len, false);
    // SAFETY: as above.
    unsafe { libc::getenv(name) }
}

pub extern "C-unwind" fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int {
    reads(name);
    reads(value);
    change();
    // SAFETY: the program asked for this.
    unsafe { libc::setenv(name, value, overwrite) }
}

pub extern "C-unwind" fn putenv(text: *mut c_char) -> c_int {
    reads(text);
    change();
    // SAFETY: the program asked for this.
    unsafe { libc::putenv(text) }
}

pub extern "C-unwind" fn unsetenv(name: *const c_char) -> c_int {
    reads(name);
    change();
    // SAFETY: the program asked for this.
    unsafe { libc::unsetenv(name) }
}

pub extern "C-unwind" fn clearenv() -> c_int {
    change();
    // SAFETY: the program asked for this.
    unsafe { libc::clearenv() }
}
