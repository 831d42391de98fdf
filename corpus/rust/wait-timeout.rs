// A wait that may end because time is up.
// expect: tso=safe pso=safe c11=safe
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

static READY: Mutex<bool> = Mutex::new(false);
static CHANGED: Condvar = Condvar::new();

fn main() {
    let other = thread::spawn(|| {
        *READY.lock().unwrap() = true;
        CHANGED.notify_one();
    });
    let time = Duration::from_millis(5);
    let (ready, result) = CHANGED.wait_timeout_while(READY.lock().unwrap(), time, |ready| !*ready).unwrap();
    assert!(*ready || result.timed_out());
    drop(ready);
    other.join().unwrap();
}
