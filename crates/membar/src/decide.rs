//! One decision with its re-check, as every command makes it.

use crate::cli::LimitArgs;
use crate::guard::{guarded, provoke};
use crate::page::{self, Entry, Wish};
use crate::stop::{Failure, Interrupt};
use membar::check::Limits;
use membar::core::{Algorithm, OpId, VerdictKind};
use membar::report::{self, Report};
use membar::{Decider, Model, Trace};
use std::time::Duration;

/// What to do about an internal error.
pub const REPORT_BUG: &str = "This is a bug in membar. Please report it with the trace and the command line; \
     `membar --version` tells the version.";

/// A model as the user named it.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// What was given to `--model`.
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
    /// The answer.
    pub verdict: VerdictKind,
    /// Allowed, by the first order that was tried.
    pub first: bool,
    /// What decided.
    pub algorithm: Algorithm,
    /// As much as was asked for.
    pub report: Option<Box<Report>>,
    /// For the page, if there is one.
    pub entry: Option<Box<Entry>>,
}

/// Answers questions one after the other; a panic costs only the answer that it interrupts.
#[derive(Default)]
pub struct Guarded {
    decider: Decider,
}

impl Guarded {
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
            *self = Guarded::default();
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
        let limits = budget.start();
        let found = match detail {
            Detail::Verdict if wish.is_none() => self.decider.verdict(trace, model, &limits),
            _ => self.decider.decide(trace, model, &limits),
        };
        let found = found.map_err(|flaw| format!("the verdict's certificate does not hold: {flaw}"))?;
        let mut answer = Answer {
            verdict: found.verdict(),
            first: found.is_first_attempt(),
            algorithm: found.outcome.algorithm,
            report: None,
            entry: None,
        };
        let wanted = match detail {
            Detail::Verdict => false,
            Detail::Violations => answer.verdict != VerdictKind::Allowed,
            Detail::Full { .. } => true,
        };
        if !wanted && wish.is_none() {
            return Ok(answer);
        }
        let witness = detail == Detail::Full { witness: true };
        let decided = self.decider.decided(&found, (file, index), witness, &budget.start());
        let report = Report::new(&decided);
        answer.entry =
            wish.map(|wish| Box::new(page::entry(&mut self.decider, &decided, &report, wish, (arg, &budget.start()))));
        answer.report = wanted.then(|| Box::new(report));
        Ok(answer)
    }

    /// The smallest forbidden part of a forbidden trace, with where its operations come from.
    pub fn shrink(&mut self, trace: &Trace, model: &Model, budget: &Budget) -> Option<(Vec<OpId>, Trace)> {
        self.decider.shrink(trace, model, &budget.start())
    }
}

/// The message for an internal error, without what to do about it: [`Failure::Internal`] says that.
pub fn internal_error(file: &str, index: u64, model: &str, fault: &str) -> String {
    format!("{}, trace {}, model {model}: {fault}", report::safe(file), index + 1)
}
