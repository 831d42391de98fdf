// An initialisation that panics leaves it to be done again, by whoever ignores that.
// expect: tso=safe pso=safe c11=safe
use std::panic::catch_unwind;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

static ONCE: Once = Once::new();
static DONE: AtomicU32 = AtomicU32::new(0);

fn main() {
    let fails = thread::spawn(|| {
        let _ = catch_unwind(|| ONCE.call_once_force(|state| assert!(state.is_poisoned(), "the first fails")));
    });
    let _ = catch_unwind(|| ONCE.call_once_force(|_| drop(DONE.fetch_add(1, Ordering::Relaxed))));
    fails.join().unwrap();
    ONCE.call_once_force(|_| drop(DONE.fetch_add(1, Ordering::Relaxed)));
    assert_eq!(DONE.load(Ordering::Relaxed), 1);
}
