// A spin lock as it should be.
// expect: tso=safe pso=safe c11=safe
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{hint, thread};

struct Spin {
    held: AtomicBool,
    value: UnsafeCell<u32>,
}

unsafe impl Sync for Spin {}

static LOCK: Spin = Spin { held: AtomicBool::new(false), value: UnsafeCell::new(0) };

fn increment() {
    while LOCK.held.swap(true, Ordering::Acquire) {
        hint::spin_loop();
    }
    unsafe { *LOCK.value.get() += 1 };
    LOCK.held.store(false, Ordering::Release);
}

fn main() {
    let other = thread::spawn(increment);
    increment();
    other.join().unwrap();
    assert_eq!(unsafe { *LOCK.value.get() }, 2);
}
