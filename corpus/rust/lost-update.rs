// A load and a store are not one increment.
// expect: error: left: 1, right: 2
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static COUNT: AtomicU32 = AtomicU32::new(0);

fn increment() {
    let count = COUNT.load(Ordering::SeqCst);
    COUNT.store(count + 1, Ordering::SeqCst);
}

fn main() {
    let other = thread::spawn(increment);
    increment();
    other.join().unwrap();
    assert_eq!(COUNT.load(Ordering::SeqCst), 2);
}
