// A token that comes before the wait is not lost.
// expect: tso=safe pso=safe c11=safe
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

static FLAG: AtomicBool = AtomicBool::new(false);

fn main() {
    let sleeper = thread::spawn(|| {
        while !FLAG.load(Ordering::Acquire) {
            thread::park();
        }
    });
    FLAG.store(true, Ordering::Release);
    sleeper.thread().unpark();
    sleeper.join().unwrap();
}
