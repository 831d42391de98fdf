// Two threads need the same value, which is made once.
// expect: tso=safe pso=safe c11=safe
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static MADE: AtomicU32 = AtomicU32::new(0);
static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| {
    MADE.fetch_add(1, Ordering::Relaxed);
    vec![1]
});

fn main() {
    let one = thread::spawn(|| LAZY[0]);
    let two = thread::spawn(|| LAZY[0]);
    assert_eq!(one.join().unwrap() + two.join().unwrap(), 2);
    assert_eq!(MADE.load(Ordering::Relaxed), 1);
}
