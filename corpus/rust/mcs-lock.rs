// A lock as a queue of those who wait, each for a flag on its own stack (Mellor-Crummey and Scott).
// expect: c11=safe
use std::cell::UnsafeCell;
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::thread;

struct Waiter {
    next: AtomicPtr<Waiter>,
    waits: AtomicBool,
}

struct Counter(UnsafeCell<u32>);

unsafe impl Sync for Counter {}

static LAST: AtomicPtr<Waiter> = AtomicPtr::new(null_mut());
static COUNTER: Counter = Counter(UnsafeCell::new(0));

fn add() {
    let own = Waiter { next: AtomicPtr::new(null_mut()), waits: AtomicBool::new(true) };
    let me = ptr::from_ref(&own).cast_mut();
    let before = LAST.swap(me, Ordering::AcqRel);
    if let Some(before) = unsafe { before.as_ref() } {
        before.next.store(me, Ordering::Release);
        while own.waits.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
    }
    unsafe { *COUNTER.0.get() += 1 };
    if own.next.load(Ordering::Acquire).is_null() {
        if LAST.compare_exchange(me, null_mut(), Ordering::Release, Ordering::Relaxed).is_ok() {
            return;
        }
        while own.next.load(Ordering::Acquire).is_null() {
            std::hint::spin_loop();
        }
    }
    let next = unsafe { &*own.next.load(Ordering::Relaxed) };
    next.waits.store(false, Ordering::Release);
}

fn main() {
    let other = thread::spawn(add);
    add();
    other.join().unwrap();
    assert_eq!(unsafe { *COUNTER.0.get() }, 2);
}
