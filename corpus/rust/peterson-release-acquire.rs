// Peterson's lock needs more than release and acquire.
// expect: tso=unsafe pso=unsafe c11=unsafe
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
    WANTS[me].store(true, Ordering::Release);
    TURN.store(other, Ordering::Release);
    while WANTS[other].load(Ordering::Acquire) && TURN.load(Ordering::Acquire) == other {
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
