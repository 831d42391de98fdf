// Scoped threads change parts of a vector that they borrow.
// expect: tso=safe pso=safe c11=safe
// classes: 6
use std::sync::atomic::{AtomicU32, Ordering::*};
use std::thread;
fn main() {
    let mut v = vec![1, 2, 3];
    let n = AtomicU32::new(0);
    thread::scope(|s| {
        for x in v.iter_mut() {
            let n = &n;
            s.spawn(move || {
                *x += 1;
                n.fetch_add(*x as u32, Relaxed);
            });
        }
    });
    assert_eq!(n.load(Relaxed), 9);
    assert_eq!(v, [2, 3, 4]);
}
