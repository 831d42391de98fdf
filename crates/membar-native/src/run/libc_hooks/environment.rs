//! The environment, which is put back after each execution.

use super::*;

/// What it was, once the program has changed it: the list, and what it held.
static ENVIRONMENT: Mutex<Option<(usize, Vec<usize>)>> = Mutex::new(None);
static CHANGED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    static mut environ: *mut usize;
}

/// Fills the copy of a variable of the C library that is a pointer.
pub extern "C-unwind" fn copy_variable(to: *mut usize, name: *const c_char) {
    // SAFETY: what the linker has made: a word, and the name of a variable of the C library that is one too.
    unsafe {
        let from = libc::dlsym(libc::RTLD_DEFAULT, name).cast::<usize>();
        if !from.is_null() {
            *to = *from;
        }
    }
}

fn keep_environment() {
    CHANGED.store(true, Ordering::Relaxed);
    let mut kept = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
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
        if let Some((list, entries)) = &*ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner) {
            // SAFETY: the list is as long as it was; the C library changes it in place or makes another one.
            unsafe {
                std::ptr::copy_nonoverlapping(entries.as_ptr(), *list as *mut usize, entries.len());
                environ = *list as *mut usize;
            }
        }
    }
}

pub extern "C-unwind" fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int {
    keep_environment();
    // SAFETY: what the program asked for.
    unsafe { libc::setenv(name, value, overwrite) }
}

pub extern "C-unwind" fn putenv(text: *mut c_char) -> c_int {
    keep_environment();
    // SAFETY: what the program asked for.
    unsafe { libc::putenv(text) }
}

pub extern "C-unwind" fn unsetenv(name: *const c_char) -> c_int {
    keep_environment();
    // SAFETY: what the program asked for.
    unsafe { libc::unsetenv(name) }
}

pub extern "C-unwind" fn clearenv() -> c_int {
    keep_environment();
    // SAFETY: what the program asked for.
    unsafe { libc::clearenv() }
}
