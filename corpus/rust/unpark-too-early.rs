// A thread is woken before the flag is set that it waits for.
// expect: error: deadlock
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static DONE: AtomicBool = AtomicBool::new(false);

fn main() {
    let main = thread::current();
    let other = thread::spawn(move || {
        main.unpark();
        DONE.store(true, Ordering::SeqCst);
    });
    while !DONE.load(Ordering::SeqCst) {
        thread::park();
    }
    other.join().unwrap();
}
