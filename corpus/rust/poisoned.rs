// A lock that was held in a panic is poisoned.
// expect: tso=safe pso=safe c11=safe
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

static LOCK: Mutex<u32> = Mutex::new(0);

fn main() {
    let panics = || {
        let _guard = LOCK.lock();
        panic!("with the lock");
    };
    thread::spawn(move || catch_unwind(AssertUnwindSafe(panics)).is_err()).join().unwrap();
    assert!(LOCK.lock().is_err());
}
