//! How long and how large a decision may become.

use membar_core::Undecided;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limits of one decision. The default has none.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// When to stop.
    pub deadline: Option<Instant>,
    /// Bytes that the decision may allocate beyond the trace and its graph (clocks, learned orders).
    pub memory: Option<usize>,
    /// Set by somebody else to stop early.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Limits {
    /// The same limits with a deadline that far from now, unless one comes earlier.
    pub fn within(mut self, time: Duration) -> Limits {
        let then = Instant::now().checked_add(time);
        self.deadline = self.deadline.into_iter().chain(then).min();
        self
    }

    /// The limit that has been passed, if any.
    pub fn passed(&self) -> Option<Undecided> {
        if self.interrupt.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Some(Undecided::Interrupted);
        }
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline).then_some(Undecided::Time)
    }

    /// May this many bytes be used?
    pub fn fits(&self, bytes: usize) -> bool {
        self.memory.is_none_or(|limit| bytes <= limit)
    }
}
