// A pointer is taken back and its box freed while another thread still reads there.
// expect: error: freed
// classes: 3
use std::sync::atomic::{AtomicPtr, Ordering::*};
use std::thread;
static P: AtomicPtr<u32> = AtomicPtr::new(std::ptr::null_mut());
fn main() {
    P.store(Box::into_raw(Box::new(1)), Release);
    let t = thread::spawn(|| {
        let p = P.load(Acquire);
        if !p.is_null() {
            assert_eq!(unsafe { *p }, 1);
        }
    });
    let p = P.swap(std::ptr::null_mut(), AcqRel);
    drop(unsafe { Box::from_raw(p) });
    t.join().unwrap();
}
