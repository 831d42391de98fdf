// A condition that changes without the lock: the notification may come before the wait.
// expect: error: deadlock
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;

static READY: AtomicBool = AtomicBool::new(false);
static LOCK: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();

fn main() {
    let other = thread::spawn(|| {
        READY.store(true, Ordering::SeqCst);
        CHANGED.notify_one();
    });
    let mut guard = LOCK.lock().unwrap();
    while !READY.load(Ordering::SeqCst) {
        guard = CHANGED.wait(guard).unwrap();
    }
    drop(guard);
    other.join().unwrap();
}
