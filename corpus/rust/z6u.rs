// Z6.U: a sequentially consistent store that is seen through a release store does not come before all others that are.
// expect: c11=unsafe
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static X: AtomicU32 = AtomicU32::new(0);
static Y: AtomicU32 = AtomicU32::new(0);

fn main() {
    let one = thread::spawn(|| {
        X.store(1, Ordering::SeqCst);
        Y.store(1, Ordering::Release);
    });
    let two = thread::spawn(|| (Y.fetch_add(1, Ordering::SeqCst), Y.load(Ordering::Relaxed)));
    let three = thread::spawn(|| {
        Y.store(3, Ordering::SeqCst);
        X.load(Ordering::SeqCst)
    });
    one.join().unwrap();
    let seen = two.join().unwrap();
    assert_ne!((seen, three.join().unwrap()), ((1, 3), 0));
}
