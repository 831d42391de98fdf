//! One test: from its seed to a verdict.

use super::{Observed, Plan, Source};
use crate::Failure;
use crate::check::Checker;
use crate::core::{Algorithm, Clock, Malformed, ResolveScratch, VerdictKind};
use crate::guard::provoke;
use crate::report::campaign::Coverage;
use crate::simulate::{Observe, Program, run_seed};
use crate::{Decider, Limits, Model, Trace};
use std::time::{Duration, Instant};

/// Of this many tests of each profile one is asked whether it shows more than sequential consistency allows.
const SAMPLE: u64 = 16;
/// For no longer than this.
const SAMPLE_TIME: Duration = Duration::from_millis(500);

/// The result of a test.
pub struct Done {
    /// Operations of the trace.
    pub operations: u64,
    /// The verdict.
    pub outcome: Outcome,
    /// Whether the trace is not sequentially consistent, where that was asked and found out.
    pub relaxed: Option<bool>,
    /// The algorithm that decided.
    pub algorithm: Algorithm,
    /// Its coverage.
    pub coverage: Coverage,
    /// Seconds for the program and its run.
    pub ran: f64,
    /// Seconds to decide and to certify.
    pub checked: f64,
}

/// The verdict on a test.
pub enum Outcome {
    /// Allowed; was an order found at the first attempt?
    Allowed { first: bool },
    /// Not known within the limits.
    Undecided,
    /// Forbidden.
    Forbidden(Box<Evidence>),
}

/// The evidence of a violation.
pub struct Evidence {
    /// The program that ran.
    pub program: Program,
    /// A trace that the model forbids, or what was recorded where that makes no trace.
    pub trace: Trace,
    /// The meaning of its timestamps.
    pub clock: Clock,
    /// Everything that was recorded, where that is more: a value that was written twice makes no trace.
    pub complete: Option<Trace>,
}

/// The buffers of a tester. They grow to the size of the tests, so a caller of many short campaigns keeps them.
#[derive(Default)]
pub struct Buffers {
    decider: Decider,
    sc: Checker,
    resolve: ResolveScratch,
}

/// Runs tests, keeping its buffers from one to the next.
pub struct Tester<'a> {
    plan: &'a Plan,
    source: &'a dyn Source,
    buffers: &'a mut Buffers,
    /// Sequential consistency, unless that is what is checked.
    sc: Option<&'static Model>,
}

impl<'a> Tester<'a> {
    pub fn new(plan: &'a Plan, source: &'a dyn Source, buffers: &'a mut Buffers) -> Tester<'a> {
        let weaker = plan.model.model.name != "sc";
        let sc = crate::model::builtin("sc").filter(|_| weaker);
        Tester { plan, source, buffers, sc }
    }

    /// Begins with new buffers: a test that failed may have left anything in the old ones.
    pub fn forget(&mut self) {
        *self.buffers = Buffers::default();
    }

    /// Runs a test.
    pub fn test(&mut self, number: u64) -> Result<Done, Failure> {
        let (plan, seed) = (self.plan, self.plan.seed(number));
        let begun = Instant::now();
        let profile = &plan.profile(number).profile;
        let program = profile.program(seed).map_err(|error| Failure::Usage(error.to_string()))?;
        let Observed { record, times, clock } = self.source.run(&program, run_seed(seed)).map_err(Failure::Usage)?;
        let mut trace = crate::simulate::unresolved(&program, &record, times.as_ref(), Observe::default());
        let ran = begun.elapsed().as_secs_f64();
        let operations = trace.len() as u64;
        let begun = Instant::now();
        let mut complete = None;
        if let Err(fault) = trace.resolve(&mut self.buffers.resolve) {
            // A machine that is right writes every value once. One that writes a value twice has lost an update, and a part of the
            // trace shows that.
            let part = trace.forbidden_part(&fault).ok_or_else(|| self.no_trace(number, &fault))?;
            complete = Some(std::mem::replace(&mut trace, part));
        }
        trace.set_clock(clock);
        let (verdict, first, algorithm) = self.verdict(&trace).map_err(|fault| self.internal(number, &fault))?;
        let checked = begun.elapsed().as_secs_f64();
        let relaxed = if verdict == VerdictKind::Allowed && (number / plan.profiles.len() as u64).is_multiple_of(SAMPLE)
        {
            self.relaxed(&trace)
        } else {
            None
        };
        let mut coverage = Coverage::default();
        coverage.count(&trace);
        let outcome = match verdict {
            VerdictKind::Allowed => Outcome::Allowed { first },
            VerdictKind::Forbidden => Outcome::Forbidden(Box::new(Evidence { program, trace, clock, complete })),
            VerdictKind::Undecided => Outcome::Undecided,
        };
        Ok(Done { operations, outcome, relaxed, algorithm, coverage, ran, checked })
    }

    fn verdict(&mut self, trace: &Trace) -> Result<(VerdictKind, bool, Algorithm), String> {
        let model = &self.plan.model.model;
        provoke(|| format!("the trace:1:{}", model.name));
        let answer = self.buffers.decider.verdict(trace, model, &self.plan.budget.start());
        let answer = answer.map_err(|flaw| crate::refused(&flaw))?;
        Ok((answer.verdict(), answer.is_first_attempt(), answer.outcome.algorithm))
    }

    fn relaxed(&mut self, trace: &Trace) -> Option<bool> {
        use crate::check::Decision;
        let model = self.sc?;
        match self.buffers.sc.decide(trace, model, &Limits::default().within(SAMPLE_TIME)) {
            Decision::Allowed => Some(false),
            Decision::Forbidden => Some(true),
            Decision::Undecided(_) => None,
        }
    }

    /// The recording cannot be decided. Nothing is called a violation that no proof shows.
    fn no_trace(&self, number: u64, fault: &Malformed) -> Failure {
        let command = self.plan.command(self.source, number);
        Failure::Usage(format!("error: the recording cannot be decided: {fault}\n = note: {command}"))
    }

    fn internal(&self, number: u64, fault: &str) -> Failure {
        Failure::Internal(format!("{}: {fault}", self.plan.command(self.source, number)))
    }
}
