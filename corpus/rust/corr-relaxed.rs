// One location is coherent, whatever the orders.
// expect: tso=safe pso=safe c11=safe
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);

fn main() {
    let t0 = thread::spawn(|| {
        X.store(1, Ordering::Relaxed);
    });
    let t1 = thread::spawn(|| {
        let _ = X.load(Ordering::Relaxed);
        let _ = X.load(Ordering::Relaxed);
    });
    t0.join().unwrap();
    t1.join().unwrap();
}
