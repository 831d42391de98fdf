//! parking_lot, once_cell, arc-swap, dashmap.

use std::sync::Arc;
use std::thread;

#[test]
fn parking_lot_mutex() {
    static SUM: parking_lot::Mutex<u32> = parking_lot::Mutex::new(0);
    let thread = thread::spawn(|| *SUM.lock() += 1);
    *SUM.lock() += 1;
    thread.join().unwrap();
    assert_eq!(*SUM.lock(), 2);
}

#[test]
fn parking_lot_try_lock() {
    static SUM: parking_lot::Mutex<u32> = parking_lot::Mutex::new(0);
    let thread = thread::spawn(|| SUM.try_lock().map(|mut sum| *sum += 1).is_some());
    let own = SUM.try_lock().map(|mut sum| *sum += 1).is_some();
    let other = thread.join().unwrap();
    assert_eq!(*SUM.lock(), u32::from(own) + u32::from(other));
}

#[test]
fn parking_lot_once() {
    use std::sync::atomic::{AtomicU32, Ordering};
    static ONCE: parking_lot::Once = parking_lot::Once::new();
    static DONE: AtomicU32 = AtomicU32::new(0);
    let thread = thread::spawn(|| ONCE.call_once(|| drop(DONE.fetch_add(1, Ordering::Relaxed))));
    ONCE.call_once(|| drop(DONE.fetch_add(1, Ordering::Relaxed)));
    assert_eq!(DONE.load(Ordering::Relaxed), 1);
    thread.join().unwrap();
}

#[test]
fn parking_lot_rwlock() {
    static LOCK: parking_lot::RwLock<(u32, u32)> = parking_lot::RwLock::new((0, 0));
    let thread = thread::spawn(|| *LOCK.write() = (1, 1));
    let pair = *LOCK.read();
    assert_eq!(pair.0, pair.1);
    thread.join().unwrap();
}

#[test]
fn parking_lot_condvar() {
    static READY: parking_lot::Mutex<bool> = parking_lot::Mutex::new(false);
    static CHANGED: parking_lot::Condvar = parking_lot::Condvar::new();
    let thread = thread::spawn(|| {
        *READY.lock() = true;
        CHANGED.notify_one();
    });
    let mut ready = READY.lock();
    while !*ready {
        CHANGED.wait(&mut ready);
    }
    drop(ready);
    thread.join().unwrap();
}

#[test]
fn once_cell_sync() {
    static CELL: once_cell::sync::OnceCell<u32> = once_cell::sync::OnceCell::new();
    let thread = thread::spawn(|| *CELL.get_or_init(|| 1));
    let own = *CELL.get_or_init(|| 2);
    assert_eq!(own, thread.join().unwrap());
}

#[test]
fn once_cell_race() {
    static CELL: once_cell::race::OnceBox<u32> = once_cell::race::OnceBox::new();
    let thread = thread::spawn(|| *CELL.get_or_init(|| Box::new(1)));
    let own = *CELL.get_or_init(|| Box::new(2));
    assert_eq!(own, thread.join().unwrap());
}

#[test]
fn arc_swap_store() {
    let value = Arc::new(arc_swap::ArcSwap::from_pointee(1));
    let other = value.clone();
    let thread = thread::spawn(move || other.store(Arc::new(2)));
    let seen = **value.load();
    assert!(seen == 1 || seen == 2);
    thread.join().unwrap();
    assert_eq!(**value.load(), 2);
}

#[test]
fn dashmap_insert() {
    let map = Arc::new(dashmap::DashMap::with_shard_amount(2));
    let other = map.clone();
    let thread = thread::spawn(move || other.insert(1, 1).is_none());
    assert!(map.insert(2, 2).is_none());
    assert!(thread.join().unwrap());
    assert_eq!(map.len(), 2);
}
