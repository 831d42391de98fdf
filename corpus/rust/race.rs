// Two threads and a variable that is not atomic.
// expect: tso=safe pso=safe c11=error
use std::thread;

static mut COUNT: u32 = 0;

fn main() {
    let other = thread::spawn(|| unsafe { COUNT = 1 });
    unsafe { COUNT = 2 };
    other.join().unwrap();
}
