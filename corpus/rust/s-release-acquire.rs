// S with release and acquire.
// expect: tso=safe pso=safe c11=safe
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

fn main() {
    let t0 = thread::spawn(|| {
        X.store(2, Ordering::Release);
        Y.store(1, Ordering::Release);
    });
    let t1 = thread::spawn(|| {
        let _ = Y.load(Ordering::Acquire);
        X.store(1, Ordering::Release);
    });
    t0.join().unwrap();
    t1.join().unwrap();
}
