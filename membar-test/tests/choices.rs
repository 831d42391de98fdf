//! Choices and assumptions, which plain `cargo test` makes once.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;

#[test]
fn choices_are_in_range() {
    membar::model(|| {
        let choice = membar::choose(3);
        assert!(choice < 3);
        if !cfg!(membar) {
            assert_eq!(choice, 0);
        }
    });
}

#[test]
fn excluded_executions_do_not_count() {
    membar::model(|| {
        membar::assume(membar::choose(2) == 1);
        let x = Arc::new(AtomicUsize::new(0));
        let other = x.clone();
        let thread = std::thread::spawn(move || other.store(1, SeqCst));
        let seen = x.load(SeqCst);
        thread.join().unwrap();
        membar::assume(seen == 1);
        assert_eq!(x.load(SeqCst), seen);
    });
}

#[test]
#[should_panic(expected = "1 to 65535 outcomes")]
fn a_choice_needs_an_outcome() {
    membar::choose(0);
}
