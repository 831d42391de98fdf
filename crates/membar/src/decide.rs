//! One decision with its re-check, as every command makes it.

use crate::page::{self, Entry, PageOptions};
use membar::core::{OpId, VerdictKind};
use membar::guard::{guarded, provoke};
use membar::report::{self, Report};
use membar::{Budget, Decider, Model, Trace};

/// The detail asked for.
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
    /// As much as requested.
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
    /// Decides a trace. The error is an internal one: a certificate that was not accepted, or a panic.
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
        wanted: (Detail, Option<&PageOptions>),
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
        (detail, wish): (Detail, Option<&PageOptions>),
    ) -> Result<Answer, String> {
        let limits = budget.start();
        let found = match detail {
            Detail::Verdict if wish.is_none() => self.decider.verdict(trace, model, &limits),
            _ => self.decider.decide(trace, model, &limits),
        };
        let found = found.map_err(|flaw| membar::refused(&flaw))?;
        let mut answer = Answer { verdict: found.verdict(), report: None, entry: None };
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
