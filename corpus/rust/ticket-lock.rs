// A ticket lock around a counter.
// expect: c11=safe
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

struct Counter(UnsafeCell<u32>);

unsafe impl Sync for Counter {}

static NEXT: AtomicU32 = AtomicU32::new(0);
static SERVED: AtomicU32 = AtomicU32::new(0);
static COUNTER: Counter = Counter(UnsafeCell::new(0));

fn add() {
    let ticket = NEXT.fetch_add(1, Ordering::Relaxed);
    while SERVED.load(Ordering::Acquire) != ticket {
        std::hint::spin_loop();
    }
    unsafe { *COUNTER.0.get() += 1 };
    SERVED.store(ticket + 1, Ordering::Release);
}

fn main() {
    let other = thread::spawn(add);
    add();
    other.join().unwrap();
    assert_eq!(unsafe { *COUNTER.0.get() }, 2);
}
