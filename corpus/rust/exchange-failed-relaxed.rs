// A compare-exchange that fails sees the flag, but with a relaxed order: the data may be missing.
// expect: tso=safe pso=safe c11=error
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

struct Data(UnsafeCell<u32>);

unsafe impl Sync for Data {}

static DATA: Data = Data(UnsafeCell::new(0));
static FLAG: AtomicU32 = AtomicU32::new(0);

fn main() {
    let writer = thread::spawn(|| {
        unsafe { *DATA.0.get() = 1 };
        FLAG.store(1, Ordering::Release);
    });
    if FLAG.compare_exchange(0, 2, Ordering::Acquire, Ordering::Relaxed) == Err(1) {
        assert_eq!(unsafe { *DATA.0.get() }, 1);
    }
    writer.join().unwrap();
}
