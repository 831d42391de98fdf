// A ring for one producer and one consumer. Each side may see the other one too late (store buffering), which it is made for.
// expect: tso=unsafe pso=unsafe c11=unsafe
// right: nothing fails in any execution
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

struct Ring {
    slots: [UnsafeCell<u32>; 2],
    head: AtomicUsize,
    tail: AtomicUsize,
}

unsafe impl Sync for Ring {}

static RING: Ring =
    Ring { slots: [const { UnsafeCell::new(0) }; 2], head: AtomicUsize::new(0), tail: AtomicUsize::new(0) };

fn push(value: u32) -> bool {
    let tail = RING.tail.load(Ordering::Relaxed);
    if tail - RING.head.load(Ordering::Acquire) == 2 {
        return false;
    }
    unsafe { *RING.slots[tail % 2].get() = value };
    RING.tail.store(tail + 1, Ordering::Release);
    true
}

fn pop() -> Option<u32> {
    let head = RING.head.load(Ordering::Relaxed);
    if head == RING.tail.load(Ordering::Acquire) {
        return None;
    }
    let value = unsafe { *RING.slots[head % 2].get() };
    RING.head.store(head + 1, Ordering::Release);
    Some(value)
}

fn main() {
    let producer = thread::spawn(|| (1..=3).map(push).filter(|pushed| *pushed).count());
    let popped: Vec<u32> = (0..3).filter_map(|_| pop()).collect();
    assert!(popped.windows(2).all(|pair| pair[0] < pair[1]));
    assert!(popped.len() <= producer.join().unwrap());
}
