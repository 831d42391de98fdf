//! Store buffering with sequentially consistent accesses: right.

use super::sync::Arc;
use super::sync::atomic::{AtomicU32, Ordering::SeqCst};
use super::thread;

/// One of the two sees the other.
pub fn run() {
    let (x, y) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (to, from) = (x.clone(), y.clone());
    let one = thread::spawn(move || {
        to.store(1, SeqCst);
        from.load(SeqCst)
    });
    y.store(1, SeqCst);
    let seen = x.load(SeqCst);
    assert!(one.join().unwrap() + seen > 0);
}
