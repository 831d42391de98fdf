//! A short time of sampling before a long search.
//!
//! Problem: a bug that needs a few orderings far apart is found by random priorities (PCT) in no time, and by a search in depth
//! perhaps never. Most programs are searched in a blink, and must not wait for samples.
//!
//! Algorithm: the search begins. If it is not done after [`HEAD_START`] it is interrupted, [`SAMPLES`] executions are sampled, in
//! [`LONGEST`] at most, and the search continues where it was. If the samples taught us about the program (shared memory, threads,
//! loops) it begins again, as always when something is learnt.
//!
//! Guarantees: a search that finishes finds all that samples can find, so then they are forgotten: counts and findings are
//! those of the search alone. Otherwise their additional findings are added. Samples depend on the seed alone, unless
//! the time for it is over first. With a chosen strategy, a limit on executions or a saved state, there are no samples.

use super::VerifyOptions;
use super::watchdog::Watchdog;
use crate::explore::Strategy;
use crate::programs::{Round, Subject};
use crate::report::count;
use crate::verify::{Checkpoint, Effort, Seen, Settings};
use crate::{Failure, Interrupt};
use serde_json::Value;
use std::time::{Duration, Instant};

/// The search has this long to finish.
const HEAD_START: Duration = Duration::from_millis(200);
/// How many executions are sampled, and in what time.
const SAMPLES: u64 = 10_000;
const LONGEST: Duration = Duration::from_millis(800);

/// Samples, before and after they are taken.
pub struct Sampling {
    wanted: bool,
    seed: u64,
    depth: u32,
    /// When the search began, and whether it was interrupted.
    began: Option<Instant>,
    due: bool,
    taken: Option<Taken>,
}

struct Taken {
    executions: u64,
    seen: Seen,
    /// The facts known about the program then: with more facts, schedules mean something else.
    known: Value,
}

impl Sampling {
    /// As the options have it.
    pub fn new(options: &VerifyOptions) -> Sampling {
        let wanted = options.samples && options.max_executions.is_none() && options.resume.is_none();
        Sampling { wanted, seed: options.seed, depth: options.depth, began: None, due: false, taken: None }
    }

    /// Whether the search, which has come this far, is to be interrupted.
    pub fn is_due(&mut self, round: &Round<'_>) -> bool {
        let began = *self.began.get_or_insert_with(Instant::now);
        self.due = self.wanted && !round.is_done && began.elapsed() > HEAD_START;
        self.due
    }

    /// Whether the search was interrupted for samples.
    pub fn is_next(&self) -> bool {
        self.due
    }

    /// Whether samples show a violation or an error.
    pub fn has_found(&self) -> bool {
        self.taken.as_ref().is_some_and(|taken| taken.seen.has_found())
    }

    /// Takes the samples.
    pub fn sample<S: Subject>(
        &mut self,
        subject: &mut S,
        settings: Settings,
        effort: Effort,
        deadline: Option<Instant>,
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let end = Instant::now() + LONGEST;
        let end = deadline.map_or(end, |deadline| deadline.min(end));
        let watchdog = Watchdog::new(Some(end), interrupt);
        let strategy = Strategy::Pct { executions: SAMPLES, seed: self.seed, depth: self.depth };
        let start = Checkpoint::new(Settings { strategy, ..settings });
        let mut go_on = |round: &Round<'_>| !round.has_first && Instant::now() < end;
        let sampled = subject.explore(start, effort, &[], &watchdog.stop, &mut go_on)?;
        let executions = sampled.counts().executions;
        self.taken = Some(Taken { executions, seen: sampled.seen, known: subject.facts() });
        Ok(())
    }

    /// Adds what only samples have found to an unfinished search. Returns a sentence about that, after the
    /// name of its strategy.
    pub fn add_to<S: Subject>(
        mut self,
        checkpoint: &mut Checkpoint,
        subject: &mut S,
        settings: Settings,
        effort: Effort,
        interrupt: &Interrupt,
    ) -> Result<Option<String>, Failure> {
        let Some(taken) = &self.taken else { return Ok(None) };
        if checkpoint.search.is_complete() {
            return Ok(None);
        }
        if taken.seen.has_found() && taken.known != subject.facts() {
            self.sample(subject, settings, effort, None, interrupt)?;
        }
        let Some(Taken { executions, seen, .. }) = self.taken else { return Ok(None) };
        let samples = count(executions as usize, "interleaving");
        let how = format!(", after {samples} by pct, depth {}, seed {}", self.depth, self.seed);
        Ok(Some(match checkpoint.seen.add_unknown(seen) {
            0 => how,
            1 => format!("{how}: one of the findings is from there"),
            found => format!("{how}: {found} of the findings are from there"),
        }))
    }
}
