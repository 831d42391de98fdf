//! The condition at the end of a litmus test: whether it holds under SC, and under the model.
//!
//! `~exists` and `forall` are assertions: an execution that refutes one is a program error, with everything that belongs to one.
//! `exists` asks about an outcome, and is no error; whether it happens is told.

use crate::programs::Subject;
use crate::report::kinds::ErrorKind as Told;
use crate::report::verify::{ConditionRef, VerifyReport};
use crate::verify::{Checkpoint, ErrorKind};

/// What the sequentially consistent executions say about it, for a program that has one.
pub fn under_sc<S: Subject>(subject: &S, checkpoint: &Checkpoint) -> Option<ConditionRef> {
    let (text, asserts) = subject.condition()?;
    let seen = &checkpoint.seen;
    let decides = match asserts {
        true => seen.errors.iter().any(|error| error.kind == ErrorKind::Condition),
        false => seen.asked.is_some(),
    };
    let complete = checkpoint.search.is_complete() && checkpoint.counts().cut == 0 && seen.limit().is_none();
    let holds_under_sc = (decides || complete).then_some(decides != asserts);
    let schedule = seen.asked.as_ref().map(|asked| asked.schedule.to_string());
    Some(ConditionRef { text, asserts, holds: None, holds_under_sc, schedule })
}

/// Adds what the model's executions say. `asked` is one of them that ends as `exists` says.
pub fn settle(report: &mut VerifyReport, checkpoint: &Checkpoint, asked: Option<String>) {
    // With a data race anything may happen under C11, and violations are not looked for any further.
    let races = checkpoint.seen.errors.iter().any(|error| matches!(error.kind, ErrorKind::Race { .. }));
    let robust = checkpoint.is_complete() && checkpoint.seen.violations.is_empty() && !races;
    let complete = report.weak.as_ref().is_some_and(|weak| weak.complete);
    let refuted = report.failures.iter().any(|failure| failure.error.kind == Told::Condition);
    let Some(condition) = &mut report.condition else { return };
    let known = match (condition.asserts, condition.holds_under_sc) {
        // SC executions are executions of the model.
        (true, Some(false)) => Some(false),
        (false, Some(true)) => Some(true),
        (_, sc) if robust => sc,
        _ => None,
    };
    let decides = if condition.asserts { refuted } else { asked.is_some() };
    condition.holds = known.or_else(|| (decides || complete).then_some(decides != condition.asserts));
    condition.schedule = condition.schedule.take().or(asked);
}
