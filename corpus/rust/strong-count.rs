// The only owner of an `Arc`, by its count: `strong_count` is relaxed, so what the other owner wrote need not be seen. `get_mut` is right.
// expect: tso=safe pso=safe c11=error
use std::cell::UnsafeCell;
use std::sync::Arc;
use std::thread;

struct Data(UnsafeCell<u32>);

unsafe impl Send for Data {}
unsafe impl Sync for Data {}

fn main() {
    let own = Arc::new(Data(UnsafeCell::new(0)));
    let other = own.clone();
    let thread = thread::spawn(move || unsafe { *other.0.get() = 1 });
    if Arc::strong_count(&own) == 1 {
        unsafe { *own.0.get() += 1 };
    }
    thread.join().unwrap();
}
