// A panic that is caught is not an error.
// expect: tso=safe pso=safe c11=safe
use std::panic::catch_unwind;
use std::thread;

fn main() {
    let caught = thread::spawn(|| catch_unwind(|| panic!("expected")).is_err());
    assert!(caught.join().unwrap());
}
