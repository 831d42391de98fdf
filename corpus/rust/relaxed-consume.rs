// A pointer that is published with release and read with relaxed: an address dependency orders nothing under c11.
// expect: tso=safe pso=safe c11=error
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::thread;

static VALUE: AtomicPtr<u32> = AtomicPtr::new(null_mut());

fn main() {
    let writer = thread::spawn(|| VALUE.store(Box::into_raw(Box::new(7)), Ordering::Release));
    if let Some(value) = unsafe { VALUE.load(Ordering::Relaxed).as_ref() } {
        assert_eq!(*value, 7);
    }
    writer.join().unwrap();
}
