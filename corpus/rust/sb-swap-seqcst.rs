// Store buffering with read-modify-writes.
// expect: tso=safe pso=safe c11=safe
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

fn main() {
    let t0 = thread::spawn(|| {
        X.swap(1, Ordering::SeqCst);
        let _ = Y.load(Ordering::SeqCst);
    });
    let t1 = thread::spawn(|| {
        Y.swap(1, Ordering::SeqCst);
        let _ = X.load(Ordering::SeqCst);
    });
    t0.join().unwrap();
    t1.join().unwrap();
}
