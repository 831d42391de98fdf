//! Message passing with a relaxed flag: wrong.

use super::sync::Arc;
use super::sync::atomic::{AtomicU32, Ordering::Relaxed};
use super::thread;

/// The reader may see the flag and not the data.
pub fn run() {
    let (data, flag) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (to, ready) = (data.clone(), flag.clone());
    let writer = thread::spawn(move || {
        to.store(42, Relaxed);
        ready.store(1, Relaxed);
    });
    if flag.load(Relaxed) == 1 {
        assert_eq!(data.load(Relaxed), 42);
    }
    writer.join().unwrap();
}
