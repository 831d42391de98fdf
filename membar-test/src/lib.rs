//! What a test says to `cargo membar test`.
//!
//! No test needs this crate: `cargo membar test` explores every test in all its executions as it is. With it a test can make choices
//! ([`choose`]), rule executions out ([`assume`]), and say what it is about ([`model`]). Under plain `cargo test` everything runs once.
//!
//! ```toml
//! [dev-dependencies]
//! membar-test = "0.1"
//! ```
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
//! use std::sync::Arc;
//!
//! membar::model(|| {
//!     let x = Arc::new(AtomicU32::new(0));
//!     let other = x.clone();
//!     let add = membar::choose(2) as u32; // both are explored
//!     let thread = std::thread::spawn(move || other.fetch_add(add, SeqCst));
//!     x.fetch_add(1, SeqCst);
//!     thread.join().unwrap();
//!     assert_eq!(x.load(SeqCst), 1 + add);
//! });
//! ```
//!
//! # Coming from loom
//!
//! `use membar as loom;` is the change. [`sync`], [`thread`], [`hint`] are the standard library's own, [`cell::UnsafeCell`] has loom's `with`
//! and `with_mut`, and [`Builder`] takes loom's limits.
//!
//! # Guarantees
//!
//! No dependencies, no build script. `cfg(membar)` is set by `cargo membar` and by `membar verify` only; without it nothing of membar is
//! linked.

#![deny(missing_docs)]

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::time::Duration;

pub mod cell;

/// The standard library's `sync`, under loom's name.
pub mod sync {
    pub use std::sync::*;
}

/// The standard library's `thread`, under loom's name.
pub mod thread {
    pub use std::thread::*;
}

/// The standard library's `hint`, under loom's name.
pub mod hint {
    pub use std::hint::*;
}

pub use std::thread_local;

/// The end of an execution that an assumption rules out.
struct Excluded;

/// Runs a closure: under `cargo membar test` in all executions that it has, otherwise once.
pub fn model<F: Fn()>(f: F) {
    match catch_unwind(AssertUnwindSafe(f)) {
        Err(payload) if payload.is::<Excluded>() => {}
        Err(payload) => resume_unwind(payload),
        Ok(()) => {}
    }
}

/// Limits of a test, with loom's names. `cargo membar test` keeps to [`max_duration`](Builder::max_duration),
/// [`preemption_bound`](Builder::preemption_bound) and [`max_permutations`](Builder::max_permutations), unless flags of its own say otherwise; a test that
/// does not end within them is undecided. membar has no limits on threads and branches, and keeps its own checkpoints: the other fields are for tests
/// that set them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[allow(missing_docs)] // loom's names
pub struct Builder {
    pub max_threads: usize,
    pub max_branches: usize,
    /// How many executions to explore.
    pub max_permutations: Option<usize>,
    /// How long to explore.
    pub max_duration: Option<Duration>,
    /// How often threads may be interrupted in an execution.
    pub preemption_bound: Option<usize>,
    pub checkpoint_file: Option<std::path::PathBuf>,
    pub checkpoint_interval: usize,
    pub location: bool,
    pub log: bool,
}

impl Builder {
    /// No limits.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Like [`model`], within these limits.
    pub fn check<F: Fn()>(&self, f: F) {
        #[cfg(membar)]
        self.tell();
        model(f);
    }

    /// Tells `cargo membar test`, which asks before it explores.
    #[cfg(membar)]
    fn tell(&self) {
        if std::env::args().any(|word| word == "--membar-limits") {
            let limits = [
                ("time", self.max_duration.map(|time| time.as_millis())),
                ("preemptions", self.preemption_bound.map(|count| count as u128)),
                ("executions", self.max_permutations.map(|count| count as u128)),
            ];
            for (name, limit) in limits {
                if let Some(limit) = limit {
                    println!("membar-limit\t{name}\t{limit}");
                }
            }
            std::process::exit(0);
        }
    }
}

#[cfg(membar)]
extern "C-unwind" {
    fn __membar_choose(outcomes: i32) -> i32;
    fn __membar_assume(holds: i32);
}

/// One of the numbers below `outcomes`: membar explores all of them, plain `cargo test` takes 0. There must be one, and at most 65,535.
pub fn choose(outcomes: usize) -> usize {
    assert!((1..=65_535).contains(&outcomes), "a choice has 1 to 65535 outcomes, not {outcomes}");
    #[cfg(membar)]
    // SAFETY: the runtime's function for a choice, and the number is in its range.
    return unsafe { __membar_choose(outcomes as i32) } as usize;
    #[cfg(not(membar))]
    0
}

/// Rules out executions in which this does not hold: they end here, and are neither right nor wrong. Under plain `cargo test` the closure of
/// [`model`] ends here.
pub fn assume(holds: bool) {
    #[cfg(membar)]
    // SAFETY: the runtime's function for an assumption.
    unsafe {
        __membar_assume(i32::from(holds));
    }
    #[cfg(not(membar))]
    if !holds {
        resume_unwind(Box::new(Excluded));
    }
}
