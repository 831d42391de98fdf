// Double-checked initialisation as it should be.
// expect: tso=safe pso=safe c11=safe
use std::cell::UnsafeCell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

struct Lazy {
    ready: AtomicBool,
    lock: Mutex<()>,
    value: UnsafeCell<u32>,
}

unsafe impl Sync for Lazy {}

static LAZY: Lazy = Lazy { ready: AtomicBool::new(false), lock: Mutex::new(()), value: UnsafeCell::new(0) };

fn get() -> u32 {
    if !LAZY.ready.load(Ordering::Acquire) {
        let _guard = LAZY.lock.lock().unwrap();
        if !LAZY.ready.load(Ordering::Relaxed) {
            unsafe { *LAZY.value.get() = 42 };
            LAZY.ready.store(true, Ordering::Release);
        }
    }
    unsafe { *LAZY.value.get() }
}

fn main() {
    let other = thread::spawn(get);
    assert_eq!(get(), 42);
    assert_eq!(other.join().unwrap(), 42);
}
