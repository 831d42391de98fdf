//! Tests as they are written for loom: the import is all that differs.

use membar as loom;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

/// Message passing through a flag.
#[test]
fn message_passing() {
    struct Slot {
        ready: AtomicBool,
        value: UnsafeCell<u32>,
    }
    unsafe impl Sync for Slot {}
    loom::model(|| {
        let slot = Arc::new(Slot { ready: AtomicBool::new(false), value: UnsafeCell::new(0) });
        let other = slot.clone();
        let writer = thread::spawn(move || {
            other.value.with_mut(|value| unsafe { *value = 42 });
            other.ready.store(true, Ordering::Release);
        });
        if slot.ready.load(Ordering::Acquire) {
            assert_eq!(slot.value.with(|value| unsafe { *value }), 42);
        }
        writer.join().unwrap();
    });
}

/// A counter that is incremented by a load and a store would lose one; a read-modify-write does not.
#[test]
fn no_increment_is_lost() {
    loom::model(|| {
        let counter = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let counter = counter.clone();
                thread::spawn(move || counter.fetch_add(1, Ordering::AcqRel))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(counter.load(Ordering::Relaxed), 2);
    });
}

/// Loom's builder, and a mutex.
#[test]
fn a_mutex_excludes() {
    let mut builder = loom::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let sum = Arc::new(Mutex::new(0));
        let other = sum.clone();
        let thread = thread::spawn(move || *other.lock().unwrap() += 1);
        *sum.lock().unwrap() += 2;
        thread.join().unwrap();
        assert_eq!(*sum.lock().unwrap(), 3);
    });
}
