// To wait with a time limit: the flag is set, or time is up.
// expect: tso=safe pso=safe c11=safe
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

static READY: AtomicBool = AtomicBool::new(false);

fn main() {
    let thread = thread::spawn(|| {
        while !READY.load(Ordering::Acquire) {
            thread::park_timeout(Duration::from_millis(1));
        }
    });
    READY.store(true, Ordering::Release);
    thread.thread().unpark();
    thread.join().unwrap();
}
