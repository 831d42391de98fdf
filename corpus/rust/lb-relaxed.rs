// Load buffering: no implementation of atomics does it.
// expect: tso=safe pso=safe c11=safe
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

fn main() {
    let t0 = thread::spawn(|| {
        let _ = X.load(Ordering::Relaxed);
        Y.store(1, Ordering::Relaxed);
    });
    let t1 = thread::spawn(|| {
        let _ = Y.load(Ordering::Relaxed);
        X.store(1, Ordering::Relaxed);
    });
    t0.join().unwrap();
    t1.join().unwrap();
}
