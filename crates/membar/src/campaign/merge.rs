//! Parts of a campaign that were run apart, put together.
//!
//! Guarantees: parts that follow each other without a gap give the counts, violations and end of the campaign that makes all their
//! tests in one go, but for times. A campaign that ends at a violation ends there whatever later parts hold.

use super::{Campaign, Observed, Plan, Source, Stopped, bundle};
use crate::Failure;
use crate::report::campaign::{Counts, Found};
use crate::report::safe;
use crate::simulate::Program;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;
use std::path::Path;

/// The tests of one part, made one after the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The number of the first one.
    pub from: u64,
    /// What ran them.
    pub source: Recorded,
    /// The number of threads that the machine chose, if the user did not.
    pub threads: Option<u32>,
    /// The counts; `tests` is the number of the test after the last one.
    pub counts: Counts,
    /// The counts at each violation; see [`Campaign::milestones`].
    pub milestones: Vec<Counts>,
    /// The files of each violation.
    pub bundles: Vec<Vec<(String, String)>>,
}

impl Part {
    /// The result of a part, with the files of its violations.
    pub fn new(plan: &Plan, source: &dyn Source, threads: Option<u32>, campaign: Campaign) -> io::Result<Part> {
        let files = |found: &Found| -> io::Result<Vec<(String, String)>> {
            let mut files = Vec::new();
            for entry in std::fs::read_dir(&found.bundle)? {
                let entry = entry?;
                files.push((entry.file_name().to_string_lossy().into_owned(), std::fs::read_to_string(entry.path())?));
            }
            files.sort();
            Ok(files)
        };
        let bundles = campaign.counters.violations.iter().map(files).collect::<io::Result<_>>()?;
        let Campaign { counters: counts, milestones, .. } = campaign;
        Ok(Part { from: plan.first, source: Recorded::new(source), threads, counts, milestones, bundles })
    }
}

/// What is known about the source of a part that was run elsewhere.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Recorded {
    name: String,
    describe: Value,
    command: Vec<String>,
    repeatable: bool,
}

impl Recorded {
    /// What reports need to know of it.
    pub fn new(source: &dyn Source) -> Recorded {
        let (describe, command) = (source.describe(), source.command());
        Recorded { name: source.name(), describe, command, repeatable: source.repeatable() }
    }

    /// The same, with the machine that it is.
    pub fn on(mut self, machine: &str) -> Recorded {
        self.describe["machine"] = machine.into();
        self
    }
}

impl Source for Recorded {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn describe(&self) -> Value {
        self.describe.clone()
    }

    fn command(&self) -> Vec<String> {
        self.command.clone()
    }

    fn repeatable(&self) -> bool {
        self.repeatable
    }

    fn run(&self, _: &Program, _: u64) -> Result<Observed, String> {
        Err("these tests were made elsewhere".into())
    }
}

/// Adds counts of tests from this number on.
fn add(sum: &mut Counts, from: u64, more: &Counts) {
    sum.tests += more.tests.saturating_sub(from);
    sum.operations += more.operations;
    sum.allowed += more.allowed;
    sum.forbidden += more.forbidden;
    sum.undecided += more.undecided;
    sum.first_attempt += more.first_attempt;
    sum.sampled += more.sampled;
    sum.relaxed += more.relaxed;
    sum.run_seconds += more.run_seconds;
    sum.check_seconds += more.check_seconds;
    for (name, count) in &more.decided {
        *sum.decided.entry(name.clone()).or_default() += count;
    }
    sum.coverage.add(&more.coverage);
    // As if one had been run after the other.
    for (at, &operations) in more.speed.operations.iter().enumerate() {
        sum.speed.add(sum.seconds + at as f64 * more.speed.width, operations);
    }
    sum.seconds += more.seconds;
}

/// The campaign that these parts make, in the order of their tests. Violations are kept where the plan says.
pub fn merged(plan: &Plan, parts: impl IntoIterator<Item = Part>) -> Result<Campaign, Failure> {
    let mut sum = Counts::default();
    let (mut next, mut gap) = (0, false);
    for part in parts {
        gap |= part.from != next;
        next = part.counts.tests;
        let before = sum.operations;
        for (i, (found, files)) in part.counts.violations.iter().zip(&part.bundles).enumerate() {
            let files: Vec<(&str, Vec<u8>)> =
                files.iter().map(|(name, text)| (name.as_str(), text.clone().into_bytes())).collect();
            let name = Path::new(&found.bundle).file_name().map_or_else(String::new, |n| n.to_string_lossy().into());
            let place = bundle::place(&plan.output, &name, &files).map_err(|error| {
                let output = safe(&plan.output.to_string_lossy());
                Failure::Usage(format!("error: a violation cannot be kept in {output}: {error}\n{}", found.what))
            })?;
            let bundle = place.to_string_lossy().into_owned();
            sum.violations.push(Found { bundle, operations: before + found.operations, ..found.clone() });
            let ended = match plan.keep_going {
                false => Some(Stopped::Violation),
                true if sum.violations.len() as u64 >= plan.max_violations => Some(Stopped::Violations),
                true => None,
            };
            if let Some(stopped) = ended {
                add(&mut sum, part.from, part.milestones.get(i).unwrap_or(&part.counts));
                return Ok(Campaign { counters: sum, stopped, milestones: Vec::new(), scattered: gap });
            }
        }
        add(&mut sum, part.from, &part.counts);
    }
    let complete = !gap && plan.tests.is_none_or(|tests| next >= tests);
    let stopped = if complete { Stopped::Tests } else { Stopped::Missing };
    Ok(Campaign { counters: sum, stopped, milestones: Vec::new(), scattered: gap })
}
