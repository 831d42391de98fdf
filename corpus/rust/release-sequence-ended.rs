// A store by another thread ends a release sequence, even if that thread has seen it.
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
    let between = thread::spawn(|| {
        if FLAG.load(Ordering::Relaxed) == 1 {
            FLAG.store(2, Ordering::Relaxed);
        }
    });
    if FLAG.load(Ordering::Acquire) == 2 {
        assert_eq!(unsafe { *DATA.0.get() }, 1);
    }
    writer.join().unwrap();
    between.join().unwrap();
}
