//! Litmus tests of RISCV and AArch64: verified by enumerating their executions.
//!
//! The monitors rest on a theorem: if an execution is not sequentially consistent, then there is one that is but for its last
//! access. It needs loads that are never overtaken by later stores, and these machines have load buffering. So all executions under the
//! model are built, and each is examined as a whole.

use crate::litmus::{Limits, LitmusTest, Model, Record, outcomes};
use crate::report::verify::EnumeratedReport;
use crate::verify::Verdict;
use std::time::Instant;

/// Whether every execution of the test under the model is sequentially consistent, and whether its condition holds. `None` if the
/// test is not of RISCV or AArch64, the model not one of its dialect, or the program crashes.
pub fn verify_enumerated(file: &str, test: &LitmusTest, model: Model, limits: &Limits) -> Option<EnumeratedReport> {
    let began = Instant::now();
    let found = outcomes(test, model, limits);
    let relaxed = found.relaxed.as_ref().filter(|_| found.crash.is_none())?;
    let sc = outcomes(test, Model::Sc, limits);
    let seconds = began.elapsed().as_secs_f64();
    let record = Record { test, model, outcomes: &found, seconds };
    Some(EnumeratedReport {
        program: file.to_owned(),
        model: model.name().to_owned(),
        verdict: match () {
            () if relaxed.executions > 0 => Verdict::Unsafe,
            () if found.complete && relaxed.complete => Verdict::Safe,
            () => Verdict::Undecided,
        },
        complete: found.complete && relaxed.complete,
        executions: found.positive + found.negative,
        relaxed: relaxed.executions,
        state: relaxed.state.as_ref().map(|state| record.state_text(state)).filter(|state| !state.is_empty()),
        new_state: relaxed.is_new,
        condition: test.condition_text(),
        holds: record.ok(),
        holds_under_sc: sc.ok(test.condition.quantifier),
        seconds,
    })
}
