// Relaxed additions before a barrier are all seen behind it.
// expect: tso=safe pso=safe c11=safe
// classes: 16
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::sync::{Arc, Barrier};
use std::thread;
fn main() {
    let b = Arc::new(Barrier::new(2));
    let x = Arc::new(AtomicU32::new(0));
    let (b2, x2) = (b.clone(), x.clone());
    let t = thread::spawn(move || {
        x2.fetch_add(1, Relaxed);
        b2.wait();
        x2.load(Relaxed)
    });
    x.fetch_add(1, Relaxed);
    b.wait();
    assert_eq!(x.load(Relaxed), 2);
    assert_eq!(t.join().unwrap(), 2);
}
