//! Litmus tests on real cores, split by outcomes.
//!
//! A shard is a list of [`Piece`]s: of a test, the outcomes from one number to another, of all that it is to give. All shards have the same
//! number of outcomes, give or take one, so that a shard may hold the end of one test and the beginning of the next. A shard whose time is up
//! gives back the rest of its pieces as a new shard. Merging adds the histograms of a test, for each machine ([`machines`]).
//!
//! Invariants: the pieces of all shards cover the outcomes of each test once; what is given back is what was not run. So the merged
//! histogram of a complete plan has as many outcomes as were asked for (a little more where the engine rounds up).
//!
//! Complexity: O(tests) for a shard when splitting; a merge reads each result once, and each state of a histogram.

use super::machines::{self, Group};
use super::store::{Merge, Store};
use super::{Came, Job, Merged, Missing, Ran, Split, tests, usage};
use crate::cli::Stress;
use crate::cmd::stress::tests::{self as litmus_tests, Case, OUTCOMES, Told};
use membar::stress::litmus::{Amount, Histogram};
use membar::{Failure, Interrupt};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Outcomes between two looks at the time.
const STRETCH: u64 = 200_000;

/// A part of a test's outcomes.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Piece {
    file: PathBuf,
    from: u64,
    to: u64,
}

/// What came of a piece.
#[derive(Clone, Serialize, Deserialize)]
struct Measured {
    file: PathBuf,
    histogram: Histogram,
}

pub fn split(args: &Stress, shards: u32) -> Result<Split, Failure> {
    tests::refuse(&args.campaign)?;
    let (files, bad) = litmus_tests::files(args);
    if let Some(failure) = bad.into_iter().next() {
        return Err(failure);
    }
    for file in &files {
        Case::read(args, file)?;
    }
    let each = args.campaign.tests.unwrap_or(OUTCOMES);
    let all = u128::from(each) * files.len() as u128;
    let shards = u128::from(shards).min(all);
    let begin = |shard: u128| all * shard / shards;
    let pieces = |shard: u128| -> Vec<Piece> {
        let (from, to) = (begin(shard), begin(shard + 1));
        let within = |at: u128, file: usize| at.saturating_sub(file as u128 * u128::from(each)).min(each.into()) as u64;
        let piece =
            |(k, file): (usize, &PathBuf)| Piece { file: file.clone(), from: within(from, k), to: within(to, k) };
        files.iter().enumerate().map(piece).filter(|piece| piece.from < piece.to).collect()
    };
    let shards = (0..shards).map(|shard| serde_json::to_value(pieces(shard))).collect::<Result<_, _>>();
    Ok(Split { merge: Merge::Outcomes, inputs: files, root: None, shards: shards.map_err(io::Error::from)?, found: 0 })
}

struct OnCores {
    args: Stress,
    interrupt: Interrupt,
}

pub fn job(args: Stress, interrupt: &Interrupt) -> Box<dyn Job> {
    Box::new(OnCores { args, interrupt: interrupt.clone() })
}

impl OnCores {
    /// Runs a piece until it is done or the time is up: how far it got, and what came of it.
    fn piece(&self, case: &Case, piece: &Piece, until: Option<Instant>) -> Result<(u64, Histogram), Failure> {
        let mut runs = Vec::new();
        let mut at = piece.from;
        while at < piece.to && until.is_none_or(|until| Instant::now() < until) {
            let stretch = STRETCH.min(piece.to - at);
            let seed = self.args.programs.seed.wrapping_add(at);
            let run = case.run(&self.args, (Amount::Outcomes(stretch), seed), &self.interrupt)?;
            if self.interrupt.pressed() {
                // It may have been cut short.
                break;
            }
            at += stretch;
            runs.push(run);
        }
        Ok((at, Histogram::sum(&case.test, runs)))
    }
}

impl Job for OnCores {
    fn run(&mut self, shard: Value, time: Option<Duration>) -> Result<Came, Failure> {
        let pieces: Vec<Piece> = serde_json::from_value(shard)
            .map_err(|error| usage(format!("error: the shard names no tests: {error}")))?;
        let each = self.args.campaign.tests.unwrap_or(OUTCOMES);
        let (files, _) = litmus_tests::files(&self.args);
        let is_planned = |piece: &Piece| piece.from < piece.to && piece.to <= each && files.contains(&piece.file);
        if pieces.is_empty() || !pieces.iter().all(is_planned) {
            return Err(usage("error: the shard names tests that the plan does not have".into()));
        }
        let until = time.and_then(|time| Instant::now().checked_add(time));
        let (mut measured, mut rest, mut units, mut found) = (Vec::new(), Vec::new(), 0, 0);
        for mut piece in pieces {
            let case = Case::read(&self.args, &piece.file)?;
            let (at, histogram) = self.piece(&case, &piece, until)?;
            if at > piece.from {
                units += at - piece.from;
                let allowed = case.allowed(&self.args, &self.interrupt);
                found += u64::from(allowed.is_some_and(|allowed| histogram.outside(&allowed) > 0));
                measured.push(Measured { file: piece.file.clone(), histogram });
            }
            if at < piece.to {
                piece.from = at;
                rest.push(piece);
            }
        }
        if units == 0 {
            return Err(Failure::Late);
        }
        let rest =
            if rest.is_empty() { Vec::new() } else { vec![serde_json::to_value(rest).map_err(io::Error::from)?] };
        let result = serde_json::to_string(&measured).map_err(io::Error::from)?;
        Ok(Came::Ran(Ran { result, units, found, rest }))
    }
}

/// Each machine has its own histograms.
pub fn merge(store: &Store, args: &Stress) -> Result<Merged, Failure> {
    let results = store.scan().into_keys().filter_map(|id| store.result::<Vec<Measured>>(&id).ok());
    let measured =
        results.flat_map(|(done, body)| body.result.into_iter().map(move |one| (done.machine.clone(), (), one)));
    let groups = machines::grouped(measured)?;
    let (files, _) = litmus_tests::files(args);
    let mut all = Vec::new();
    let code = machines::each(groups, &args.campaign, |Group { machine, results, .. }, page| {
        let mut told = Told::new(args, page.as_deref(), Some(machine))?;
        for file in &files {
            let runs = results.iter().filter(|part| part.file == *file).map(|part| part.histogram.clone());
            let runs: Vec<Histogram> = runs.collect();
            if !runs.is_empty() {
                let case = Case::read(args, file)?;
                told.add(&case, &Histogram::sum(&case.test, runs), &Interrupt::default())?;
            }
        }
        let (code, results) = told.end()?;
        all.extend(results);
        Ok(code)
    })?;
    litmus_tests::document(args, &all)?;
    Ok(Merged { code, missing: Missing::up_to(store, None) })
}
