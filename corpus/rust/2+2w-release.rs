// The same with release stores, which a machine with store buffers keeps in order.
// expect: tso=safe pso=safe c11=unsafe
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

fn main() {
    let t0 = thread::spawn(|| {
        X.store(1, Ordering::Release);
        Y.store(2, Ordering::Release);
    });
    let t1 = thread::spawn(|| {
        Y.store(1, Ordering::Release);
        X.store(2, Ordering::Release);
    });
    t0.join().unwrap();
    t1.join().unwrap();
}
