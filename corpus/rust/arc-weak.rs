// The last of its owners destroys a value, and a weak one may come too late.
// expect: tso=safe pso=safe c11=safe
use std::sync::Arc;
use std::thread;

fn main() {
    let value = Arc::new(5);
    let weak = Arc::downgrade(&value);
    let owner = thread::spawn(move || *value);
    assert!(weak.upgrade().is_none_or(|value| *value == 5));
    assert_eq!(owner.join().unwrap(), 5);
    assert!(weak.upgrade().is_none());
}
