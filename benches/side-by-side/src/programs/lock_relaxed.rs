//! A spin lock that is released with a relaxed store: wrong.

use super::cell::UnsafeCell;
use super::sync::Arc;
use super::sync::atomic::{AtomicBool, Ordering::*};
use super::thread;

struct Lock {
    held: AtomicBool,
    sum: UnsafeCell<u32>,
}

unsafe impl Sync for Lock {}

impl Lock {
    fn add(&self) {
        while self.held.swap(true, Acquire) {
            thread::yield_now();
        }
        self.sum.with_mut(|sum| unsafe { *sum += 1 });
        self.held.store(false, Relaxed);
    }
}

/// Two threads add one.
pub fn run() {
    let lock = Arc::new(Lock { held: AtomicBool::new(false), sum: UnsafeCell::new(0) });
    let other = lock.clone();
    let thread = thread::spawn(move || other.add());
    lock.add();
    thread.join().unwrap();
    assert_eq!(lock.sum.with(|sum| unsafe { *sum }), 2);
}
