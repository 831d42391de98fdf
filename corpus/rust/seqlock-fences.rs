// A sequence lock with the fences that it needs: what a reader keeps is consistent, and so is what it throws away.
// expect: tso=safe pso=safe c11=safe
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::thread;

static VERSION: AtomicU32 = AtomicU32::new(0);
static A: AtomicU32 = AtomicU32::new(0);
static B: AtomicU32 = AtomicU32::new(0);

fn write() {
    VERSION.store(1, Ordering::Relaxed);
    fence(Ordering::Release);
    A.store(1, Ordering::Relaxed);
    B.store(1, Ordering::Relaxed);
    VERSION.store(2, Ordering::Release);
}

fn read() -> Option<(u32, u32)> {
    let before = VERSION.load(Ordering::Acquire);
    let pair = (A.load(Ordering::Relaxed), B.load(Ordering::Relaxed));
    fence(Ordering::Acquire);
    (before % 2 == 0 && VERSION.load(Ordering::Relaxed) == before).then_some(pair)
}

fn main() {
    let writer = thread::spawn(write);
    if let Some((a, b)) = read() {
        assert_eq!(a, b);
    }
    writer.join().unwrap();
}
