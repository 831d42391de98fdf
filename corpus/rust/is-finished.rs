// A thread that has ended, as far as `is_finished` knows: only `join` orders what it did.
// expect: tso=safe pso=safe c11=error
use std::cell::UnsafeCell;
use std::thread;

struct Data(UnsafeCell<u32>);

unsafe impl Sync for Data {}

static DATA: Data = Data(UnsafeCell::new(0));

fn main() {
    let thread = thread::spawn(|| unsafe { *DATA.0.get() = 1 });
    if thread.is_finished() {
        unsafe { *DATA.0.get() += 1 };
    }
    thread.join().unwrap();
}
