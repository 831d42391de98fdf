//! Three threads add to a counter twice: right.

use super::sync::Arc;
use super::sync::atomic::{AtomicU32, Ordering::*};
use super::thread;

/// No addition is lost.
pub fn run() {
    let counter = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || {
                counter.fetch_add(1, AcqRel);
                counter.fetch_add(1, AcqRel);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(counter.load(Relaxed), 6);
}
