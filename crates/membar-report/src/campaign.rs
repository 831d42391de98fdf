//! The result of a campaign of random tests: data, as the JSON document and the state file have it.

use crate::data::Shape;
use crate::kinds::OpName;
use crate::reduced::Reduced;
use membar_core::{AddrId, OpKind, Source, ThreadId, Trace, VerdictKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A whole campaign.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CampaignReport {
    /// The machine that ran the programs.
    pub source: Value,
    /// The argument of `--model`, or the machine's model.
    pub model: String,
    /// The settings of each profile.
    pub profiles: Vec<Value>,
    /// The seed of the first test.
    pub seed: u64,
    /// `allowed`, `forbidden` or `undecided`.
    #[serde(with = "crate::kinds")]
    pub verdict: VerdictKind,
    /// Why it ended.
    pub stopped: String,
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// `operations` / `seconds`.
    pub operations_per_second: f64,
}

/// Counts of everything so far, those of earlier runs included. This is also what a state file keeps.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Counts {
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
    /// Allowed tests that were also checked against sc.
    pub sampled: u64,
    /// Those of them that it forbids.
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
    /// The coverage of the tests.
    #[serde(default)]
    pub coverage: Coverage,
    /// Operations over time.
    #[serde(default)]
    pub speed: Speed,
    /// Violations, in the order of the tests.
    pub violations: Vec<Found>,
}

impl Counts {
    /// Operations that were run and checked each second, if it took this many seconds.
    pub fn rate(&self, seconds: f64) -> f64 {
        if seconds > 0.0 { self.operations as f64 / seconds } else { 0.0 }
    }

    /// Percent of the allowed tests for which an order was found at the first attempt.
    pub fn first_percent(&self) -> f64 {
        if self.allowed > 0 { 100.0 * self.first_attempt as f64 / self.allowed as f64 } else { 0.0 }
    }
}

/// A violation that was found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Found {
    /// Number of the test, from 0.
    pub test: u64,
    /// Its seed.
    pub seed: u64,
    /// Name of its profile.
    pub profile: String,
    /// Operations of all tests up to and with this one.
    pub operations: u64,
    /// The directory that it is kept in.
    pub bundle: String,
    /// The violation, in a sentence or two.
    pub what: String,
    /// The command that runs the test again.
    pub command: String,
    /// The shape of its cycle.
    #[serde(default)]
    pub shape: Option<Shape>,
    /// The operations that its proof needs.
    #[serde(default)]
    pub reduced: Option<Reduced>,
}

/// The coverage of tests. It counts what stood in the programs and what reads returned, not what orders were possible.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "SavedCoverage")]
pub struct Coverage {
    /// For each ordered pair of kinds, how often operations of these kinds stood next to each other in a thread.
    pub pairs: Vec<Pair>,
    /// Where reads got their value.
    pub reads: Reads,
}

#[derive(Deserialize)]
struct SavedCoverage {
    pairs: Vec<Pair>,
    reads: Reads,
}

/// Two kinds of operations, one after the other in a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// The first one.
    #[serde(with = "crate::kinds")]
    pub first: OpName,
    /// The next one of its thread.
    #[serde(with = "crate::kinds")]
    pub second: OpName,
    /// How often both had the same address. A barrier has none.
    pub same: u64,
    /// How often they had not.
    pub other: u64,
}

/// Where reads got their value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Reads {
    /// From an earlier store of their own thread, in its buffer or in memory.
    pub own: u64,
    /// From another thread.
    pub other: u64,
    /// The initial value.
    pub initial: u64,
}

/// The kinds of operations in the programs of campaigns, in the order in which pairs are kept.
const COUNTED: [OpName; 6] =
    [OpName::Load, OpName::Store, OpName::Rmw, OpName::Barrier, OpName::Acquire, OpName::Release];

impl Default for Coverage {
    fn default() -> Coverage {
        let all = COUNTED.iter().flat_map(|&first| COUNTED.iter().map(move |&second| (first, second)));
        let pairs = all.map(|(first, second)| Pair { first, second, same: 0, other: 0 }).collect();
        Coverage { pairs, reads: Reads::default() }
    }
}

impl From<SavedCoverage> for Coverage {
    fn from(saved: SavedCoverage) -> Coverage {
        let mut coverage = Coverage { reads: saved.reads, ..Coverage::default() };
        for pair in saved.pairs {
            if let Some(known) = coverage.pairs.iter_mut().find(|p| (p.first, p.second) == (pair.first, pair.second)) {
                *known = pair;
            }
        }
        coverage
    }
}

impl Coverage {
    /// Counts a test. The trace is resolved.
    pub fn count(&mut self, trace: &Trace) {
        for thread in 0..trace.threads() {
            let mut before: Option<(usize, AddrId)> = None;
            for &op in trace.thread_ops(ThreadId(thread as u32)) {
                let kind = match trace.kind(op) {
                    OpKind::Load => 0,
                    OpKind::Store => 1,
                    OpKind::Rmw => 2,
                    OpKind::Fence => 3,
                    OpKind::Acquire => 4,
                    OpKind::Release => 5,
                };
                let addr = trace.addr(op);
                if let Some((first, at)) = before {
                    let pair = &mut self.pairs[first * COUNTED.len() + kind];
                    if at == addr && addr != AddrId::NONE {
                        pair.same += 1;
                    } else {
                        pair.other += 1;
                    }
                }
                before = Some((kind, addr));
                if matches!(kind, 0 | 2) {
                    match trace.source(op) {
                        Source::INIT => self.reads.initial += 1,
                        source => match source.as_op() {
                            Some(write) if trace.thread(write) == trace.thread(op) => self.reads.own += 1,
                            _ => self.reads.other += 1,
                        },
                    }
                }
            }
        }
    }

    /// Adds what another part of the campaign has tried.
    pub fn add(&mut self, other: &Coverage) {
        for (pair, more) in self.pairs.iter_mut().zip(&other.pairs) {
            pair.same = pair.same.saturating_add(more.same);
            pair.other = pair.other.saturating_add(more.other);
        }
        let Reads { own, other: others, initial } = &mut self.reads;
        for (count, more) in [(own, other.reads.own), (others, other.reads.other), (initial, other.reads.initial)] {
            *count = count.saturating_add(more);
        }
    }
}

/// Operations over time, in a bounded number of buckets of equal width.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Speed {
    /// Seconds of a bucket.
    pub width: f64,
    /// Operations that were run and checked in each.
    pub operations: Vec<u64>,
}

impl Default for Speed {
    fn default() -> Speed {
        Speed { width: 0.25, operations: Vec::new() }
    }
}

impl Speed {
    /// Buckets at most. Where more are needed, two become one.
    pub const BUCKETS: usize = 120;

    /// This many operations were done when this many seconds had gone by.
    pub fn add(&mut self, seconds: f64, operations: u64) {
        if !(self.width > 0.0 && self.width.is_finite() && seconds.is_finite()) || self.operations.len() > Self::BUCKETS
        {
            *self = Speed::default();
        }
        while seconds.max(0.0) / self.width >= Self::BUCKETS as f64 {
            self.operations = self
                .operations
                .chunks(2)
                .map(|pair| pair.iter().fold(0, |sum: u64, &n| sum.saturating_add(n)))
                .collect();
            self.width *= 2.0;
        }
        let bucket = (seconds.max(0.0) / self.width) as usize;
        if self.operations.len() <= bucket {
            self.operations.resize(bucket + 1, 0);
        }
        self.operations[bucket] = self.operations[bucket].saturating_add(operations);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_stay_few_and_lose_nothing() {
        let mut speed = Speed::default();
        for i in 0..100_000 {
            speed.add(f64::from(i) * 0.37, 3);
        }
        assert!(speed.operations.len() <= Speed::BUCKETS, "{}", speed.operations.len());
        assert_eq!(speed.operations.iter().sum::<u64>(), 300_000);
        let end = 100_000.0 * 0.37;
        assert!(speed.width * speed.operations.len() as f64 >= end && speed.width * 59.0 < end, "{}", speed.width);
    }

    #[test]
    fn coverage_counts_neighbours_and_sources() {
        let text = b"0: x := 1\n0: x == 1\n0: sync\n0: y == 0\n1: { y == 0; y := 2 }\n1: x == 1\ncheck\n";
        let trace = membar_trace::parse("t", text).unwrap().remove(0);
        let mut coverage = Coverage::default();
        coverage.count(&trace);
        let seen: Vec<_> = coverage.pairs.iter().filter(|pair| pair.same + pair.other > 0).collect();
        let words: Vec<String> =
            seen.iter().map(|p| format!("{} {} {} {}", p.first, p.second, p.same, p.other)).collect();
        assert_eq!(words, ["load barrier 0 1", "store load 1 0", "rmw load 0 1", "barrier load 0 1"]);
        assert_eq!(coverage.reads, Reads { own: 1, other: 1, initial: 2 });
        // A counter that is read back continues.
        let saved = serde_json::to_string(&coverage).unwrap();
        let mut again: Coverage = serde_json::from_str(&saved).unwrap();
        assert_eq!(again, coverage);
        again.add(&coverage);
        assert_eq!(again.reads.initial, 4);
        assert!(
            serde_json::from_str::<Coverage>("{\"pairs\":[],\"reads\":{\"own\":1,\"other\":0,\"initial\":0}}").is_ok()
        );
    }
}
