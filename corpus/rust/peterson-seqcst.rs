// Peterson's lock as it should be.
// expect: tso=safe pso=safe c11=safe
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{hint, thread};

static WANTS: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];
static TURN: AtomicUsize = AtomicUsize::new(0);

struct Count(UnsafeCell<u32>);
unsafe impl Sync for Count {}
static COUNT: Count = Count(UnsafeCell::new(0));

fn increment(me: usize) {
    let other = 1 - me;
    WANTS[me].store(true, Ordering::SeqCst);
    TURN.store(other, Ordering::SeqCst);
    while WANTS[other].load(Ordering::SeqCst) && TURN.load(Ordering::SeqCst) == other {
        hint::spin_loop();
    }
    unsafe { *COUNT.0.get() += 1 };
    WANTS[me].store(false, Ordering::Release);
}

fn main() {
    let other = thread::spawn(|| increment(1));
    increment(0);
    other.join().unwrap();
}
