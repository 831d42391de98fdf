// A slot whose flag is set with a relaxed store: its contents race.
// expect: tso=safe pso=unsafe c11=error
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::thread;
struct Slot {
    full: AtomicBool,
    value: UnsafeCell<Option<u64>>,
}
unsafe impl Sync for Slot {}
static S: Slot = Slot { full: AtomicBool::new(false), value: UnsafeCell::new(None) };
fn main() {
    let t = thread::spawn(|| {
        unsafe { *S.value.get() = Some(7) };
        S.full.store(true, Relaxed);
    });
    if S.full.load(Acquire) {
        assert_eq!(unsafe { *S.value.get() }, Some(7));
    }
    t.join().unwrap();
}
