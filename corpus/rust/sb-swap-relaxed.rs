// An interlocked instruction empties store buffers; relaxed, it orders nothing for C11.
// expect: tso=safe pso=safe c11=unsafe
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

fn main() {
    let t0 = thread::spawn(|| {
        X.swap(1, Ordering::Relaxed);
        let _ = Y.load(Ordering::Relaxed);
    });
    let t1 = thread::spawn(|| {
        Y.swap(1, Ordering::Relaxed);
        let _ = X.load(Ordering::Relaxed);
    });
    t0.join().unwrap();
    t1.join().unwrap();
}
