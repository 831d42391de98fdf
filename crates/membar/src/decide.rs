//! One decision with its re-check, as every command makes it.

use crate::cli::LimitArgs;
use crate::guard::{guarded, provoke};
use crate::page::{self, Entry, Wish};
use crate::stop::{Failure, Interrupt};
use membar::check::Limits;
use membar::core::{OpId, Proof, Verdict};
use membar::report::{self, Blame, Decided, Effort, Report};
use membar::{Certifier, Checker, Model, Outcome, Trace};
use std::time::{Duration, Instant};

/// What to do about an internal error.
pub const REPORT_BUG: &str = "This is a bug in membar. Please report it with the trace and the command line; \
     `membar --version` tells the version.";

/// Looking for the read to blame takes this long at most.
const BLAME: Duration = Duration::from_secs(5);

/// A model as the user named it.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The argument of `--model`.
    pub arg: String,
    /// The model.
    pub model: Model,
}

impl Chosen {
    /// The model that the user means.
    pub fn load(arg: &str) -> Result<Chosen, Failure> {
        match membar::model::load(arg) {
            Ok(model) => Ok(Chosen { arg: arg.to_owned(), model }),
            Err(error) => Err(Failure::Usage(error.to_string())),
        }
    }
}

/// Limits before the clock runs.
#[derive(Clone, Debug)]
pub struct Budget {
    time: Option<Duration>,
    memory: Option<usize>,
    interrupt: Interrupt,
}

impl Budget {
    /// The limits that were given on the command line.
    pub fn new(limits: &LimitArgs, interrupt: &Interrupt) -> Budget {
        Budget { time: limits.time.0, memory: limits.memory.0, interrupt: interrupt.clone() }
    }

    /// These limits.
    pub fn of(time: Option<Duration>, memory: Option<usize>, interrupt: &Interrupt) -> Budget {
        Budget { time, memory, interrupt: interrupt.clone() }
    }

    /// At least so long, also after an interrupt: for what has been found and is to be kept.
    pub fn at_least(&self, time: Duration) -> Budget {
        let time = self.time.map(|own| own.max(time));
        Budget { time, memory: self.memory, interrupt: Interrupt::default() }
    }

    /// No limits.
    pub fn none() -> Budget {
        Budget { time: None, memory: None, interrupt: Interrupt::default() }
    }

    /// The limits of a decision that begins now.
    pub fn start(&self) -> Limits {
        let limits =
            Limits { deadline: None, memory: self.memory, interrupt: Some(std::sync::Arc::clone(&self.interrupt.0)) };
        match self.time {
            Some(time) => limits.within(time),
            None => limits,
        }
    }
}

/// What is wanted to be known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// The verdict only.
    Verdict,
    /// A report unless the trace is allowed.
    Violations,
    /// A report in any case, with or without the witness of an allowed trace.
    Full { witness: bool },
}

/// An answer whose certificate was re-checked.
#[derive(Debug)]
pub struct Answer {
    /// `allowed`, `forbidden` or `undecided`.
    pub verdict: &'static str,
    /// Allowed, by the first order that was tried.
    pub first: bool,
    /// The algorithm that decided.
    pub algorithm: &'static str,
    /// As much as was asked for.
    pub report: Option<Box<Report>>,
    /// For the page, if there is one.
    pub entry: Option<Box<Entry>>,
}

/// Decides and re-checks, keeping the buffers from one trace to the next.
#[derive(Default)]
pub struct Decider {
    checker: Checker,
    certifier: Certifier,
}

impl Decider {
    /// Decides a trace. The error is an internal one: what the certifier did not accept, or a panic.
    pub fn answer(
        &mut self,
        trace: (&str, u64, &Trace),
        model: &Model,
        budget: &Budget,
        detail: Detail,
    ) -> Result<Answer, String> {
        self.answer_for(trace, (model, ""), budget, (detail, None))
    }

    /// The same for a page, if one is wanted: with the model as the user named it.
    pub fn answer_for(
        &mut self,
        (file, index, trace): (&str, u64, &Trace),
        model: (&Model, &str),
        budget: &Budget,
        wanted: (Detail, Option<&Wish>),
    ) -> Result<Answer, String> {
        let answer = guarded(|| {
            provoke(|| format!("{file}:{}:{}", index + 1, model.0.name));
            self.certified_answer((file, index, trace), model, budget, wanted)
        });
        answer.unwrap_or_else(|panic| {
            // Nobody knows what its buffers hold now.
            *self = Decider::default();
            Err(panic)
        })
    }

    fn certified_answer(
        &mut self,
        (file, index, trace): (&str, u64, &Trace),
        (model, arg): (&Model, &str),
        budget: &Budget,
        (detail, wish): (Detail, Option<&Wish>),
    ) -> Result<Answer, String> {
        let started = Instant::now();
        let limits = budget.start();
        // A proof that nobody will see needs no shortening.
        let Outcome { mut verdict, algorithm, effort } = match detail {
            Detail::Verdict if wish.is_none() => self.checker.verdict(trace, model, &limits),
            _ => self.checker.check(trace, model, &limits),
        };
        certified(&mut self.certifier, trace, model, &verdict)?;
        if (detail != Detail::Verdict || wish.is_some())
            && let Verdict::Forbidden(proof) = &mut verdict
        {
            // The form that is shown is certified too; the other one remains if it does not hold.
            let shown = report::readable(proof.clone(), model);
            if self.certifier.proof(trace, model, &shown).is_ok() {
                *proof = shown;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        let name = verdict.name();
        let first = matches!(verdict, Verdict::Allowed(_)) && effort.conflicts == 0;
        let wanted = match detail {
            Detail::Verdict => false,
            Detail::Violations => !matches!(verdict, Verdict::Allowed(_)),
            Detail::Full { .. } => true,
        };
        if !wanted && wish.is_none() {
            return Ok(Answer { verdict: name, first, algorithm: algorithm.name(), report: None, entry: None });
        }
        let blame = match &verdict {
            Verdict::Forbidden(proof) => self.blame(trace, model, proof, budget),
            _ => None,
        };
        let decided = Decided {
            algorithm: algorithm.name(),
            effort: Effort { passes: u64::from(effort.passes), inferred: effort.inferred, conflicts: effort.conflicts },
            seconds,
            certified: !matches!(verdict, Verdict::Undecided { .. }),
            blame,
            witness: detail == Detail::Full { witness: true },
            ..Decided::new(file, index, trace, model, &verdict)
        };
        let report = Report::new(&decided);
        let entry = wish.map(|wish| {
            let parts = (&mut self.checker, &mut self.certifier);
            Box::new(page::entry(parts, &decided, &report, wish, (arg, budget)))
        });
        Ok(Answer {
            verdict: name,
            first,
            algorithm: algorithm.name(),
            report: wanted.then(|| Box::new(report)),
            entry,
        })
    }

    fn blame(&mut self, trace: &Trace, model: &Model, proof: &Proof, budget: &Budget) -> Option<Blame> {
        let mut limits = budget.start();
        let soon = Instant::now() + BLAME;
        limits.deadline = Some(limits.deadline.map_or(soon, |deadline| deadline.min(soon)));
        let found = self.checker.blame(trace, model, proof, &limits)?;
        let legal = found.legal.iter().map(|legal| (legal.value, legal.source)).collect();
        Some(Blame { read: found.read, legal, complete: found.all })
    }

    /// The smallest forbidden part of a forbidden trace, with where its operations come from.
    pub fn shrink(&mut self, trace: &Trace, model: &Model, budget: &Budget) -> Option<(Vec<OpId>, Trace)> {
        let mut part = self.checker.shrink(trace, model, &budget.start())?;
        // Statements about addresses and locks that are gone have no meaning left.
        let used = |addr| {
            part.trace.ops().any(|op| part.trace.addr(op) == addr) || part.trace.finals.iter().any(|f| f.addr == addr)
        };
        let inits: Vec<_> = part.trace.inits.iter().filter(|init| used(init.addr)).copied().collect();
        let guards: Vec<_> = part.trace.guards.iter().filter(|guard| used(guard.lock)).cloned().collect();
        part.trace.inits = inits;
        part.trace.guards = guards;
        Some((part.ops, part.trace))
    }
}

/// Does the certificate hold?
fn certified(certifier: &mut Certifier, trace: &Trace, model: &Model, verdict: &Verdict) -> Result<(), String> {
    certifier.verdict(trace, model, verdict).map_err(|flaw| format!("the verdict's certificate does not hold: {flaw}"))
}

/// The message for an internal error, without what to do about it: [`Failure::Internal`] says that.
pub fn internal_error(file: &str, index: u64, model: &str, fault: &str) -> String {
    format!("{}, trace {}, model {model}: {fault}", report::safe(file), index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use membar::core::Witness;

    #[test]
    fn a_wrong_verdict_does_not_pass() {
        let trace = membar::trace::parse("t", b"0: x := 1\n1: x == 1\ncheck\n").unwrap().remove(0);
        let model = membar::model::load("sc").unwrap();
        let wrong = Verdict::Allowed(Witness { order: vec![OpId(1), OpId(0)] });
        let fault = certified(&mut Certifier::new(), &trace, &model, &wrong).unwrap_err();
        assert!(internal_error("t", 0, "sc", &fault).starts_with("t, trace 1, model sc: "));
        let wrong = Verdict::Forbidden(Proof::Unwritten(OpId(1)));
        assert!(certified(&mut Certifier::new(), &trace, &model, &wrong).is_err());
    }
}
