//! crossbeam: channels, queues, a work-stealing deque, epochs.

use crossbeam_queue::{ArrayQueue, SegQueue};
use std::sync::Arc;
use std::thread;

#[test]
fn channel_bounded_try() {
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let thread = thread::spawn(move || sender.try_send(1).is_ok());
    let first = receiver.try_recv().ok();
    assert!(thread.join().unwrap());
    assert_eq!(first.or_else(|| receiver.try_recv().ok()), Some(1));
}

#[test]
fn channel_unbounded_try() {
    let (sender, receiver) = crossbeam_channel::unbounded();
    let thread = thread::spawn(move || sender.send(1).unwrap());
    let first = receiver.try_recv().ok();
    thread.join().unwrap();
    assert_eq!(first.or_else(|| receiver.try_recv().ok()), Some(1));
}

#[test]
fn channel_bounded_wait() {
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let thread = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    thread.join().unwrap();
}

#[test]
fn channel_zero_wait() {
    let (sender, receiver) = crossbeam_channel::bounded(0);
    let thread = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    thread.join().unwrap();
}

#[test]
fn array_queue() {
    let queue = Arc::new(ArrayQueue::new(2));
    let other = queue.clone();
    let thread = thread::spawn(move || other.push(1).is_ok());
    assert!(queue.push(2).is_ok());
    let first = queue.pop();
    assert!(thread.join().unwrap());
    assert_eq!(first.unwrap() + queue.pop().unwrap(), 3);
}

#[test]
fn seg_queue() {
    let queue = Arc::new(SegQueue::new());
    let other = queue.clone();
    let thread = thread::spawn(move || other.push(1));
    let first = queue.pop();
    thread.join().unwrap();
    assert_eq!(first.or_else(|| queue.pop()), Some(1));
}

#[test]
fn deque_pop_and_steal() {
    let worker = crossbeam_deque::Worker::new_lifo();
    worker.push(1);
    let stealer = worker.stealer();
    let thread = thread::spawn(move || stealer.steal().success().unwrap_or(0));
    let own = worker.pop().unwrap_or(0);
    let stolen = thread.join().unwrap();
    assert_eq!(own + stolen + worker.pop().unwrap_or(0), 1);
}

#[test]
fn epoch_swap() {
    use crossbeam_epoch::{Atomic, Owned, pin};
    use std::sync::atomic::Ordering;
    let value = Arc::new(Atomic::new(1));
    let other = value.clone();
    let thread = thread::spawn(move || {
        let guard = pin();
        let old = other.swap(Owned::new(2), Ordering::AcqRel, &guard);
        unsafe { guard.defer_destroy(old) };
    });
    let guard = pin();
    let seen = unsafe { *value.load(Ordering::Acquire, &guard).deref() };
    assert!(seen == 1 || seen == 2);
    drop(guard);
    thread.join().unwrap();
}
