// A `static mut` that is filled in by whoever comes first, behind a relaxed flag.
// expect: tso=unsafe pso=unsafe c11=unsafe
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static mut VALUE: u32 = 0;
static READY: AtomicBool = AtomicBool::new(false);

fn value() -> u32 {
    if !READY.load(Ordering::Relaxed) {
        unsafe { VALUE = 5 };
        READY.store(true, Ordering::Relaxed);
    }
    unsafe { VALUE }
}

fn main() {
    let other = thread::spawn(value);
    assert_eq!(value(), 5);
    assert_eq!(other.join().unwrap(), 5);
}
