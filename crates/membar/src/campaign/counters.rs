//! How a campaign counts.

use super::test::{Done, Outcome};
use crate::core::VerdictKind;
use crate::report::campaign::Counts;

/// Counts the next test, which is over after this many seconds.
pub fn count(counts: &mut Counts, done: &Done, seconds: f64) {
    counts.tests += 1;
    counts.operations += done.operations;
    match done.outcome {
        Outcome::Allowed { first } => {
            counts.allowed += 1;
            counts.first_attempt += u64::from(first);
        }
        Outcome::Undecided => counts.undecided += 1,
        Outcome::Forbidden(_) => counts.forbidden += 1,
    }
    if let Some(relaxed) = done.relaxed {
        counts.sampled += 1;
        counts.relaxed += u64::from(relaxed);
    }
    let verdict = match done.outcome {
        Outcome::Allowed { .. } => VerdictKind::Allowed,
        Outcome::Undecided => VerdictKind::Undecided,
        Outcome::Forbidden(_) => VerdictKind::Forbidden,
    };
    *counts.decided.entry(format!("{verdict} by {}", done.algorithm)).or_default() += 1;
    counts.coverage.add(&done.coverage);
    counts.speed.add(seconds, done.operations);
    counts.run_seconds += done.ran;
    counts.check_seconds += done.checked;
}
