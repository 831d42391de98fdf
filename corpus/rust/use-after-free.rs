// A pointer that outlives its box.
// expect: error: freed
use std::thread;

struct Pointer(*mut u32);
unsafe impl Send for Pointer {}

fn main() {
    let pointer = Box::into_raw(Box::new(1));
    let other = Pointer(pointer);
    let thread = thread::spawn(move || {
        let other = other;
        unsafe { *other.0 }
    });
    drop(unsafe { Box::from_raw(pointer) });
    thread.join().unwrap();
}
