//! What a campaign counts.

use super::test::{Done, Outcome};
use membar::report::campaign::{Coverage, Found, Speed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of everything so far, those of earlier runs included. This is what a state file keeps.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Tests, and the number of the next one.
    pub tests: u64,
    /// Operations of their traces.
    pub operations: u64,
    /// Tests whose trace the model allows.
    pub allowed: u64,
    /// Tests whose trace it forbids.
    pub forbidden: u64,
    /// Tests that were not decided within the limits.
    pub undecided: u64,
    /// Allowed tests for which an order was found at the first attempt.
    pub first_attempt: u64,
    /// Tests that were asked whether they show relaxation.
    pub sampled: u64,
    /// Those of them that did: not sequentially consistent.
    pub relaxed: u64,
    /// Seconds, as time went by.
    pub seconds: f64,
    /// Seconds for programs and their runs, all workers together.
    pub run_seconds: f64,
    /// Seconds to decide and certify, all workers together.
    pub check_seconds: f64,
    /// Tests by verdict and by what decided: `allowed by too`.
    #[serde(default)]
    pub decided: BTreeMap<String, u64>,
    /// What tests have tried.
    #[serde(default)]
    pub coverage: Coverage,
    /// Operations over time.
    #[serde(default)]
    pub speed: Speed,
    /// Violations.
    pub found: Vec<Found>,
}

impl Counters {
    /// Counts the next test, which is over after so many seconds.
    pub fn add(&mut self, done: &Done, seconds: f64) {
        self.tests += 1;
        self.operations += done.operations;
        match done.outcome {
            Outcome::Allowed { first } => {
                self.allowed += 1;
                self.first_attempt += u64::from(first);
            }
            Outcome::Undecided => self.undecided += 1,
            Outcome::Forbidden(_) => self.forbidden += 1,
        }
        if let Some(relaxed) = done.relaxed {
            self.sampled += 1;
            self.relaxed += u64::from(relaxed);
        }
        let verdict = match done.outcome {
            Outcome::Allowed { .. } => "allowed",
            Outcome::Undecided => "undecided",
            Outcome::Forbidden(_) => "forbidden",
        };
        *self.decided.entry(format!("{verdict} by {}", done.algorithm)).or_default() += 1;
        self.coverage.add(&done.coverage);
        self.speed.add(seconds, done.operations);
        self.run_seconds += done.ran;
        self.check_seconds += done.checked;
    }

    /// Operations that were run and checked each second, as time went by.
    pub fn rate(&self, seconds: f64) -> f64 {
        if seconds > 0.0 { self.operations as f64 / seconds } else { 0.0 }
    }

    /// Percent of the allowed tests for which an order was found at the first attempt.
    pub fn first_percent(&self) -> f64 {
        if self.allowed > 0 { 100.0 * self.first_attempt as f64 / self.allowed as f64 } else { 0.0 }
    }
}
