// Two threads wait, and one is notified.
// expect: error: deadlock
use std::sync::{Condvar, Mutex};
use std::thread;

static READY: Mutex<bool> = Mutex::new(false);
static CHANGED: Condvar = Condvar::new();

fn wait() {
    let ready = READY.lock().unwrap();
    drop(CHANGED.wait_while(ready, |ready| !*ready).unwrap());
}

fn main() {
    let threads = [thread::spawn(wait), thread::spawn(wait)];
    *READY.lock().unwrap() = true;
    CHANGED.notify_one();
    for thread in threads {
        thread.join().unwrap();
    }
}
