// The token comes before the flag: the thread may wake up, see nothing, and sleep for ever.
// expect: error: deadlock
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static FLAG: AtomicBool = AtomicBool::new(false);

fn main() {
    let sleeper = thread::spawn(|| {
        while !FLAG.load(Ordering::Acquire) {
            thread::park();
        }
    });
    sleeper.thread().unpark();
    FLAG.store(true, Ordering::Release);
    sleeper.join().unwrap();
}
