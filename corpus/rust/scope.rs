// Threads of a scope, which nobody joins by hand.
// expect: tso=safe pso=safe c11=safe
// classes: 3
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

fn main() {
    let (x, y) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            x.store(1, Ordering::SeqCst);
            y.load(Ordering::SeqCst)
        });
        scope.spawn(|| {
            y.store(1, Ordering::SeqCst);
            x.load(Ordering::SeqCst)
        });
    });
    assert_eq!(x.into_inner() + y.into_inner(), 2);
}
