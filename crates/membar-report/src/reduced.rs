//! The operations that a proof needs, as text that `membar check` reads, with the lines that they had.
//!
//! With it a JSON document is enough to decide a violation again, without the file that it was found in.

use crate::html::part;
use membar_core::{Clock, Compare, Proof, ResolveScratch, Trace};
use serde::{Deserialize, Serialize};

/// Operations that are kept at most.
const MOST: usize = 2000;

/// The part of a forbidden trace that its proof is about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reduced {
    /// The trace, with its `check`.
    pub trace: String,
    /// The line that each of its lines had, but for the `check`.
    pub lines: Vec<u64>,
    /// Which timestamps can be compared: `local`, `global` or `none`.
    #[serde(with = "crate::kinds")]
    pub clock: Compare,
    /// How far a timestamp may be off.
    pub clock_error: u64,
    /// How far apart the scans are that timestamps come from.
    pub sampled_every: Option<u64>,
}

impl Reduced {
    /// The part that matters of a forbidden trace; none if it is too large.
    pub fn of(trace: &Trace, proof: &Proof) -> Option<Reduced> {
        if proof.ops().len() > MOST {
            return None;
        }
        let (_, part) = part(trace, proof).filter(|(ops, _)| ops.len() <= MOST)?;
        let mut text = Vec::new();
        membar_trace::write_trace(&part, &mut text).ok()?;
        let mut lines: Vec<u64> = part.ops().map(|op| part.line(op)).collect();
        lines.extend(part.inits.iter().map(|init| init.line));
        lines.extend(part.finals.iter().map(|last| last.line));
        lines.extend(part.orders.iter().map(|order| order.line));
        lines.extend(part.guards.iter().map(|guard| guard.line));
        lines.sort_unstable();
        let clock = part.clock();
        Some(Reduced {
            trace: String::from_utf8(text).ok()?,
            lines,
            clock: clock.compare,
            clock_error: clock.error,
            sampled_every: clock.sampled_every,
        })
    }

    /// The trace with its old lines, ready to be decided. The error says what is wrong with the text.
    pub fn parsed(&self) -> Result<Trace, String> {
        let mut traces =
            membar_trace::parse("the reduced trace", self.trace.as_bytes()).map_err(|error| error.to_string())?;
        let (Some(trace), true) = (traces.pop(), traces.is_empty()) else {
            return Err("the reduced trace is not one trace".into());
        };
        let mut trace = self.renumbered(&trace).ok_or("the lines of the reduced trace are inconsistent")?;
        trace.resolve_recorded(&mut ResolveScratch::default()).map_err(|fault| format!("{fault:?}"))?;
        trace.set_clock(Clock { compare: self.clock, error: self.clock_error, sampled_every: self.sampled_every });
        Ok(trace)
    }

    fn renumbered(&self, trace: &Trace) -> Option<Trace> {
        let first = *self.lines.first()?;
        let last = *self.lines.last()?;
        let sorted = self.lines.windows(2).all(|pair| pair[0] < pair[1]);
        if !sorted || first == 0 || last - first >= u64::from(u32::MAX) {
            return None;
        }
        let line = |line: u64| self.lines.get(usize::try_from(line).ok()?.checked_sub(1)?).copied();
        let mut new = Trace::new();
        new.clear(first);
        for &name in trace.thread_names() {
            new.thread_id(name);
        }
        for name in trace.addr_names() {
            new.addr_id(name);
        }
        for id in trace.ops() {
            let mut op = trace.op(id);
            op.line = line(op.line)?;
            new.push(op);
        }
        new.inits = trace.inits.clone();
        new.finals = trace.finals.clone();
        new.orders = trace.orders.clone();
        new.guards = trace.guards.clone();
        for place in new.inits.iter_mut().map(|init| &mut init.line) {
            *place = line(*place)?;
        }
        for place in new.finals.iter_mut().map(|last| &mut last.line) {
            *place = line(*place)?;
        }
        for place in new.orders.iter_mut().map(|order| &mut order.line) {
            *place = line(*place)?;
        }
        for place in new.guards.iter_mut().map(|guard| &mut guard.line) {
            *place = line(*place)?;
        }
        Some(new)
    }

    /// The options that say what the timestamps mean, as they can be typed: ` --clock global`.
    pub fn options(&self) -> String {
        let mut text = match self.clock {
            Compare::Threads => String::new(),
            other => format!(" --clock {}", other.name()),
        };
        if self.clock_error > 0 {
            text += &format!(" --clock-error {}", self.clock_error);
        }
        if let Some(every) = self.sampled_every {
            text += &format!(" --sampled-every {every}");
        }
        text
    }
}
