//! What the recording says about when things happened.
//!
//! A trace is recorded as it happened, or thread by thread; the file does not say which. If threads take turns often enough, it is taken for the
//! first: wrongly, at worst, since what is found with a hint is checked like everything else, and what is not found is tried without.
//!
//! Complexity: O(n).

use crate::problem::Problem;
use membar_core::{OpId, Trace};

/// A trace in which another thread comes after this many operations or fewer, on average, was recorded as it happened.
const TURNS: usize = 16;
/// What the order in which operations were recorded is taken for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hint {
    /// Nothing: it was not recorded.
    None,
    /// Stores execute in that order, unless somebody needs what is there.
    Eager,
    /// The same, but stores that are read later wait for their readers.
    Lazy,
}

/// What is tried, with or without restarts: what is quickest if it succeeds, first.
pub(super) const WAYS: [(Hint, bool); 6] = [
    (Hint::Eager, false),
    (Hint::Lazy, false),
    (Hint::None, false),
    (Hint::None, true),
    (Hint::Lazy, true),
    (Hint::Eager, true),
];

/// When each operation was recorded, as the number of operations before it: nothing if operations were not recorded as they happened, but
/// thread by thread.
pub(super) fn recorded(trace: &Trace, p: &Problem) -> Vec<u32> {
    let ops: Vec<OpId> = trace.ops().collect();
    let turns = ops.windows(2).filter(|pair| trace.thread(pair[0]) != trace.thread(pair[1])).count();
    if turns < ops.len() / TURNS {
        return Vec::new();
    }
    let mut when = vec![0; p.ops];
    for (i, &op) in ops.iter().enumerate() {
        when[p.node(op) as usize] = i as u32;
    }
    when
}
