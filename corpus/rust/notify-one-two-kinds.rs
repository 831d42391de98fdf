// Two threads wait for different things with one condition variable: `notify_one` may wake the wrong one.
// expect: error: deadlock
use std::sync::{Condvar, Mutex};
use std::thread;

static DONE: Mutex<[bool; 2]> = Mutex::new([false; 2]);
static CHANGED: Condvar = Condvar::new();

fn wait(which: usize) {
    let mut done = DONE.lock().unwrap();
    while !done[which] {
        done = CHANGED.wait(done).unwrap();
    }
}

fn main() {
    let waiting = [0, 1].map(|which| thread::spawn(move || wait(which)));
    for which in 0..2 {
        DONE.lock().unwrap()[which] = true;
        CHANGED.notify_one();
    }
    for thread in waiting {
        thread.join().unwrap();
    }
}
