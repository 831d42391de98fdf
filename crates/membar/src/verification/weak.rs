//! What the executions of the model itself do, for a program that is not robust.

use super::VerifyOptions;
use crate::programs::Subject;
use crate::report::verify::{Consequence, VerifyReport};
use crate::verify::Checkpoint;
use crate::{Failure, Listener};
use std::time::Instant;

/// Explores the executions of `report.model`, until one fails or all are seen. `report.violations` are explained, and failures name the one
/// that they rest on by its index. `None` if the executions of the model are not explored: then the answer is about robustness.
pub fn consequences<S: Subject>(
    _subject: &mut S,
    _report: &VerifyReport,
    _checkpoint: &Checkpoint,
    _options: &VerifyOptions,
    _deadline: Option<Instant>,
    _listener: &dyn Listener,
) -> Result<Option<Consequence>, Failure> {
    Ok(None)
}
