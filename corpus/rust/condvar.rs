// A condition that is checked under the lock.
// expect: tso=safe pso=safe c11=safe
use std::sync::{Condvar, Mutex};
use std::thread;

static READY: Mutex<bool> = Mutex::new(false);
static CHANGED: Condvar = Condvar::new();

fn main() {
    let other = thread::spawn(|| {
        *READY.lock().unwrap() = true;
        CHANGED.notify_one();
    });
    let mut ready = READY.lock().unwrap();
    while !*ready {
        ready = CHANGED.wait(ready).unwrap();
    }
    drop(ready);
    other.join().unwrap();
}
