// Two readers that want to write without letting go: each waits for the other.
// expect: error: deadlock
use std::sync::RwLock;
use std::thread;

static VALUE: RwLock<u32> = RwLock::new(0);

fn first() {
    let read = VALUE.read().unwrap();
    if *read == 0 {
        *VALUE.write().unwrap() = 1;
    }
}

fn main() {
    let other = thread::spawn(first);
    first();
    other.join().unwrap();
}
