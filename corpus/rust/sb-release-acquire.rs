// Store buffering: release and acquire do not keep a load behind a store.
// expect: tso=unsafe pso=unsafe c11=unsafe
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

fn main() {
    let t0 = thread::spawn(|| {
        X.store(1, Ordering::Release);
        let _ = Y.load(Ordering::Acquire);
    });
    let t1 = thread::spawn(|| {
        Y.store(1, Ordering::Release);
        let _ = X.load(Ordering::Acquire);
    });
    t0.join().unwrap();
    t1.join().unwrap();
}
