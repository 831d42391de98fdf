// A bounded ring for many producers and consumers (Vyukov's), whose slots are given away without order.
// expect: c11=unsafe
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const SIZE: usize = 2;

struct Slot {
    sequence: AtomicUsize,
    value: UnsafeCell<u32>,
}

struct Ring {
    slots: [Slot; SIZE],
    head: AtomicUsize,
    tail: AtomicUsize,
}

unsafe impl Sync for Ring {}

static RING: Ring = Ring {
    slots: [
        Slot { sequence: AtomicUsize::new(0), value: UnsafeCell::new(0) },
        Slot { sequence: AtomicUsize::new(1), value: UnsafeCell::new(0) },
    ],
    head: AtomicUsize::new(0),
    tail: AtomicUsize::new(0),
};

fn push(value: u32) -> bool {
    let mut tail = RING.tail.load(Ordering::Relaxed);
    loop {
        let slot = &RING.slots[tail % SIZE];
        let sequence = slot.sequence.load(Ordering::Acquire);
        if sequence == tail {
            match RING.tail.compare_exchange(tail, tail + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    unsafe { *slot.value.get() = value };
                    slot.sequence.store(tail + 1, Ordering::Relaxed);
                    return true;
                }
                Err(now) => tail = now,
            }
        } else if sequence < tail {
            return false;
        } else {
            tail = RING.tail.load(Ordering::Relaxed);
        }
    }
}

fn pop() -> Option<u32> {
    let mut head = RING.head.load(Ordering::Relaxed);
    loop {
        let slot = &RING.slots[head % SIZE];
        let sequence = slot.sequence.load(Ordering::Acquire);
        if sequence == head + 1 {
            match RING.head.compare_exchange(head, head + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    let value = unsafe { *slot.value.get() };
                    slot.sequence.store(head + SIZE, Ordering::Release);
                    return Some(value);
                }
                Err(now) => head = now,
            }
        } else if sequence <= head {
            return None;
        } else {
            head = RING.head.load(Ordering::Relaxed);
        }
    }
}

fn main() {
    let producer = thread::spawn(|| assert!(push(1)));
    let consumer = thread::spawn(pop);
    assert!(push(2));
    producer.join().unwrap();
    let first = consumer.join().unwrap();
    let rest: u32 = std::iter::from_fn(pop).sum();
    assert_eq!(first.unwrap_or(0) + rest, 3);
}
