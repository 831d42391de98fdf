// A write that is passed on: release and acquire suffice.
// expect: tso=safe pso=safe c11=safe
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

fn main() {
    let t0 = thread::spawn(|| {
        X.store(1, Ordering::Release);
    });
    let t1 = thread::spawn(|| {
        let _ = X.load(Ordering::Acquire);
        Y.store(1, Ordering::Release);
    });
    let t2 = thread::spawn(|| {
        let _ = Y.load(Ordering::Acquire);
        let _ = X.load(Ordering::Acquire);
    });
    t0.join().unwrap();
    t1.join().unwrap();
    t2.join().unwrap();
}
