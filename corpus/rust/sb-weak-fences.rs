// Store buffering with fences that are too weak.
// expect: tso=unsafe pso=unsafe c11=unsafe
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

fn main() {
    let t0 = thread::spawn(|| {
        X.store(1, Ordering::Relaxed);
        fence(Ordering::AcqRel);
        let _ = Y.load(Ordering::Relaxed);
    });
    let t1 = thread::spawn(|| {
        Y.store(1, Ordering::Relaxed);
        fence(Ordering::AcqRel);
        let _ = X.load(Ordering::Relaxed);
    });
    t0.join().unwrap();
    t1.join().unwrap();
}
