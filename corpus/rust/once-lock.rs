// Whoever initialises it, all see the same.
// expect: tso=safe pso=safe c11=safe
use std::sync::OnceLock;
use std::thread;

static VALUE: OnceLock<u32> = OnceLock::new();

fn main() {
    let one = thread::spawn(|| *VALUE.get_or_init(|| 1));
    let two = thread::spawn(|| *VALUE.get_or_init(|| 2));
    assert_eq!(one.join().unwrap(), two.join().unwrap());
}
