// R, sequentially consistent.
// expect: tso=safe pso=safe c11=safe
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

fn main() {
    let t0 = thread::spawn(|| {
        X.store(1, Ordering::SeqCst);
        Y.store(1, Ordering::SeqCst);
    });
    let t1 = thread::spawn(|| {
        Y.store(2, Ordering::SeqCst);
        let _ = X.load(Ordering::SeqCst);
    });
    t0.join().unwrap();
    t1.join().unwrap();
}
