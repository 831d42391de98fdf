//! The meaning of a trace's timestamps.
//!
//! Problem: a recorded period (`@ begin:end`) says when an operation was pending on some clock. Which operations it may
//! be compared with, how exact it is, and whether it was sampled is not in the trace; the user says so ([`Clock`]). From
//! the recorded periods make ones that surely contain the moment at which the operation took effect.
//!
//! Algorithm:
//! 1. *Sampled every N*: a timestamp is the time of the first scan that saw the event. The scan before, N earlier, did not,
//!    so the event was after that one: `begin - N + 1` at the earliest. A counter tells that something happened to this many operations of a thread, in program order,
//!    so an operation without a begin began no earlier than the last one before it that has one, and one without an end
//!    ended no later than the next one after it that has one.
//! 2. *Error*: the begin is moved back and the end forward by it.
//!
//! Guarantees: each step only widens what it is given, or bounds what was unbounded by what a neighbour's bound implies.
//! A wider period never orders more, so widening cannot turn an allowed trace into a forbidden one.

use crate::{OpId, Span, ThreadId, Trace};

/// Which operations can be compared by their timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Compare {
    /// None: timestamps are ignored.
    Nothing,
    /// Those of one thread: each thread has its own clock.
    #[default]
    Threads,
    /// All: there is one clock.
    Everything,
}

/// The meaning of timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Clock {
    /// Which can be compared.
    pub compare: Compare,
    /// How far a timestamp may be off.
    pub error: u64,
    /// Timestamps are those of periodic scans, this far apart.
    pub sampled_every: Option<u64>,
}

impl Trace {
    /// The meaning of timestamps.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Says what the timestamps mean; [`Trace::period`] and [`Trace::ended_before`] follow it. The trace is resolved.
    ///
    /// With sampled timestamps, operations that have none get those of their neighbours, for good: a trace that is to be read by
    /// several clocks is copied first.
    pub fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
        if clock.sampled_every.is_none() || self.spans.is_empty() {
            return;
        }
        let mut spans = std::mem::take(&mut self.spans);
        for thread in 0..self.threads() {
            let ops = self.thread_ops(ThreadId(thread as u32));
            let (mut begin, mut end) = (None, None);
            for op in ops {
                let span = &mut spans[op.index()];
                span.begin = span.begin.or(begin);
                begin = span.begin;
            }
            for op in ops.iter().rev() {
                let span = &mut spans[op.index()];
                span.end = span.end.or(end);
                end = span.end;
            }
        }
        self.spans = spans;
    }

    /// Which operations can be compared by their timestamps.
    pub fn compare(&self) -> Compare {
        self.clock.compare
    }

    /// A period that surely contains the operation's, as [`Clock`] reads its timestamps.
    #[inline]
    pub fn period(&self, op: OpId) -> Span {
        let Span { mut begin, mut end } = self.span(op);
        if let (Some(first), Some(last)) = (begin, end)
            && last < first
        {
            // Clocks that are off can record an end before its begin: it was pending in between, at least.
            (begin, end) = (Some(last), Some(first));
        }
        let Clock { error, sampled_every, .. } = self.clock;
        let back = error.saturating_add(sampled_every.map_or(0, |every| every.saturating_sub(1)));
        // An end that does not fit any more says nothing.
        Span { begin: begin.map(|begin| begin.saturating_sub(back)), end: end.and_then(|end| end.checked_add(error)) }
    }

    /// Did one operation certainly end before another began, by clocks that can be compared?
    #[inline]
    pub fn ended_before(&self, earlier: OpId, later: OpId) -> bool {
        let comparable = match self.clock.compare {
            Compare::Nothing => false,
            Compare::Threads => self.thread(earlier) == self.thread(later),
            Compare::Everything => true,
        };
        comparable && self.period(earlier).before(self.period(later))
    }

    /// Can any two operations be compared by their timestamps?
    pub fn has_times(&self) -> bool {
        !self.spans.is_empty() && self.clock.compare != Compare::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ResolveScratch;

    fn span(begin: Option<u64>, end: Option<u64>) -> Span {
        Span { begin, end }
    }

    fn trace() -> Trace {
        let mut trace = Trace::new();
        let (a, b, x) = (trace.thread_id(0), trace.thread_id(1), trace.memory_id(0));
        let first = trace.push_load(a, x, 0, 1);
        trace.push_load(a, x, 0, 2);
        let third = trace.push_load(a, x, 0, 3);
        let other = trace.push_load(b, x, 0, 4);
        trace.set_span(first, span(Some(600), Some(600)));
        trace.set_span(third, span(Some(1200), Some(1800)));
        trace.set_span(other, span(Some(2500), None));
        trace.resolve(&mut ResolveScratch::default()).unwrap();
        trace
    }

    #[test]
    fn clocks_say_what_can_be_compared() {
        let mut trace = trace();
        assert!(trace.ended_before(OpId(0), OpId(2)), "one thread, by default");
        assert!(!trace.ended_before(OpId(0), OpId(3)), "two threads");
        trace.set_clock(Clock { compare: Compare::Everything, ..Clock::default() });
        assert!(trace.ended_before(OpId(0), OpId(3)));
        trace.set_clock(Clock { compare: Compare::Everything, error: 950, ..Clock::default() });
        assert!(!trace.ended_before(OpId(0), OpId(3)), "600 + 950 is not before 2500 - 950");
        assert_eq!(trace.period(OpId(3)), span(Some(1550), None));
        trace.set_clock(Clock { compare: Compare::Nothing, ..Clock::default() });
        assert!(!trace.ended_before(OpId(0), OpId(2)) && !trace.has_times());
    }

    #[test]
    fn samples_bound_their_neighbours() {
        let mut trace = trace();
        trace.set_clock(Clock { sampled_every: Some(600), ..Clock::default() });
        assert_eq!(trace.period(OpId(0)), span(Some(1), Some(600)));
        assert_eq!(trace.period(OpId(1)), span(Some(1), Some(1800)), "unstamped, between two");
        assert_eq!(trace.period(OpId(2)), span(Some(601), Some(1800)));
        assert!(trace.ended_before(OpId(0), OpId(2)), "the scan at 600 saw the one end and not the other begin");
        assert!(!trace.ended_before(OpId(0), OpId(1)), "between 1 and 1800: the scans do not tell");
        assert_eq!(trace.span(OpId(1)), span(Some(600), Some(1800)), "as its neighbours' scans");
    }
}
