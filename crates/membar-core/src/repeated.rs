//! Traces in which values are repeated.
//!
//! Problem: values identify writes. Where an address was given a value twice, a read of that value has no one source, and the
//! trace as a whole is not decided. But a machine that loses an update repeats a value (two fetch-adds that read 5 both write 6),
//! and that must be found. Find the part of the trace that does not depend on repeated values, and see whether it is forbidden
//! at a glance.
//!
//! Algorithm:
//! 1. Count the writes of each value of each address, the initial value included. A value is *repeated* if there are two or more.
//! 2. Leave out what reads a repeated value; and what reads from a read-modify-write that is left out, and so on. `final` lines with
//!    such values, and `order` lines of addresses with a repeated value, are left out too. Stores, barriers and locks stay.
//! 3. The part is forbidden at a glance if it has a read or a final value that nobody wrote, or two read-modify-writes that read
//!    from one write (a lost update).
//!
//! Invariants: what is left reads values that exactly one write gave the address, or that nobody wrote; a write that is read
//! is never left out. So the part resolves, and nothing that decides it looks at a repeated value.
//!
//! Complexity: O(n) expected.
//!
//! Guarantees: if some memory order explains the whole trace, whichever write each repeated value came from, the same order
//! without what was left out explains the part: a read that is left still has its source, and no write was added between the two.
//! So a part that is forbidden proves the whole forbidden. The converse does not hold: a part that is allowed proves nothing,
//! and a decision about one must not be "allowed". Where a counter is only added to, a repeated sum always shows two
//! read-modify-writes that read from one write: take the smallest sum that was repeated. Its writers have chains of sums behind
//! them that lead to one write, along smaller sums, which are not repeated. Where the chains part, two of them read one write.

use crate::{AddrId, Malformed, OpId, OpKind, ResolveScratch, Source, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

/// The parts left out of a trace, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// The repeated value, with its two lines: [`Malformed::WrittenTwice`] or [`Malformed::WritesInitial`].
    pub why: Malformed,
    /// How many operations were left out.
    pub ops: usize,
}

impl Trace {
    /// As [`Trace::resolve`], for traces that were recorded: where values are repeated, but a part of the trace is forbidden at a
    /// glance without them, this becomes that part ([`Trace::left_out`]), and otherwise it is open ([`Trace::is_open`]).
    pub fn resolve_recorded(&mut self, scratch: &mut ResolveScratch) -> Result<(), Malformed> {
        let fault = match self.resolve(scratch) {
            Ok(()) => return Ok(()),
            Err(fault) => fault,
        };
        match self.forbidden_part(&fault) {
            Some(part) => {
                *self = part;
                Ok(())
            }
            None if matches!(fault, Malformed::WrittenTwice { .. } | Malformed::WritesInitial { .. }) => {
                self.resolve_open(fault)
            }
            None => Err(fault),
        }
    }

    /// The part of a trace with this fault that is forbidden at a glance, resolved. None where the fault is not that a
    /// value is repeated, or where nothing is found.
    #[cold]
    pub fn forbidden_part(&self, fault: &Malformed) -> Option<Trace> {
        if !matches!(fault, Malformed::WrittenTwice { .. } | Malformed::WritesInitial { .. }) {
            return None;
        }
        let writes = Writes::of(self);
        let kept = writes.unambiguous(self);
        let ops: Vec<OpId> = self.ops().filter(|op| kept[op.index()]).collect();
        let keep_final = |i: usize| {
            let end = self.finals[i];
            !writes.repeated.contains(&(end.addr, end.value))
                && writes.writer.get(&(end.addr, end.value)).is_none_or(|op| kept[op.index()])
        };
        let with_repeats: FxHashSet<AddrId> = writes.repeated.iter().map(|&(addr, _)| addr).collect();
        let keep_order = |i: usize| !with_repeats.contains(&self.orders[i].addr);
        let mut bare = self.restricted_to(&ops, keep_final, keep_order);
        bare.left_out = Some(Box::new(LeftOut { why: fault.clone(), ops: self.len() - ops.len() }));
        bare.set_end_line(self.end_line());
        if self.open_end() {
            bare.set_open_end();
        }
        bare.resolve(&mut ResolveScratch::default()).ok()?;
        (bare.has_unwritten() || lost_update(&bare)).then_some(bare)
    }
}

/// Do two read-modify-writes read from one write?
fn lost_update(trace: &Trace) -> bool {
    let mut read: FxHashSet<(AddrId, Source)> = FxHashSet::default();
    let atomics = trace.ops().filter(|&op| trace.kind(op) == OpKind::Rmw);
    atomics.into_iter().any(|op| !read.insert((trace.addr(op), trace.source(op))))
}

/// The writes of each value.
struct Writes {
    /// The first write of each value.
    writer: FxHashMap<(AddrId, u64), OpId>,
    /// Values that an address was given more than once, its initial one included.
    repeated: FxHashSet<(AddrId, u64)>,
}

impl Writes {
    fn of(trace: &Trace) -> Writes {
        let mut writes = Writes { writer: FxHashMap::default(), repeated: FxHashSet::default() };
        let mut initial = vec![0; trace.addrs()];
        for init in &trace.inits {
            initial[init.addr.index()] = init.value;
        }
        for op in trace.ops().filter(|&op| matches!(trace.kind(op), OpKind::Store | OpKind::Rmw)) {
            let key = (trace.addr(op), trace.write(op));
            if key.1 == initial[key.0.index()] || writes.writer.insert(key, op).is_some() {
                writes.repeated.insert(key);
            }
        }
        writes
    }

    /// Which operations do not depend on a repeated value.
    fn unambiguous(&self, trace: &Trace) -> Vec<bool> {
        let mut kept = vec![true; trace.len()];
        let mut readers: FxHashMap<(AddrId, u64), Vec<OpId>> = FxHashMap::default();
        let mut todo = Vec::new();
        for op in trace.ops().filter(|&op| matches!(trace.kind(op), OpKind::Load | OpKind::Rmw)) {
            let key = (trace.addr(op), trace.read(op));
            if self.repeated.contains(&key) {
                todo.push(op);
            } else {
                readers.entry(key).or_default().push(op);
            }
        }
        while let Some(op) = todo.pop() {
            kept[op.index()] = false;
            if trace.kind(op) == OpKind::Rmw {
                todo.extend(readers.remove(&(trace.addr(op), trace.write(op))).into_iter().flatten());
            }
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Atomics of one address as (thread, read, write), in program order; a store reads nothing.
    fn resolved(ops: &[(u32, Option<u64>, u64)], last: Option<u64>) -> Result<Trace, Malformed> {
        let mut trace = Trace::new();
        trace.clear(1);
        let x = trace.named_id("x");
        for (line, &(thread, read, write)) in (1..).zip(ops) {
            let thread = trace.thread_id(thread);
            match read {
                Some(read) => trace.push_rmw(thread, x, read, write, line),
                None => trace.push_store(thread, x, write, line),
            };
        }
        let line = 1 + ops.len() as u64;
        trace.finals.extend(last.map(|value| crate::Final { addr: x, value, line }));
        trace.resolve_recorded(&mut ResolveScratch::default()).map(|()| trace)
    }

    fn lines(trace: &Trace) -> Vec<u64> {
        trace.ops().map(|op| trace.line(op)).collect()
    }

    #[test]
    fn a_lost_update_is_left_when_dependents_of_a_repeated_value_are_not() {
        let two = resolved(&[(0, Some(0), 1), (1, Some(0), 1)], Some(1)).unwrap();
        assert_eq!((lines(&two), two.finals.len(), two.left_out().unwrap().ops), (vec![1, 2], 0, 0));
        assert_eq!(two.source(OpId(0)), Source::INIT);
        let three = resolved(&[(0, None, 5), (1, Some(5), 6), (2, Some(5), 6), (3, Some(5), 6)], None).unwrap();
        assert_eq!(lines(&three), [1, 2, 3, 4]);
        // 103 is written twice, and what reads it is gone; the two that read 100 are not.
        let chain =
            [(0, None, 100), (0, Some(100), 103), (1, Some(100), 101), (2, Some(101), 103), (3, Some(103), 104)];
        let chain = resolved(&chain, None).unwrap();
        assert_eq!((lines(&chain), chain.left_out().unwrap().ops), (vec![1, 2, 3, 4], 1));
        // If a write is gone, so are the reads from it.
        let behind = [(0, Some(0), 1), (1, Some(0), 1), (2, Some(1), 2), (3, Some(2), 3)];
        assert_eq!(lines(&resolved(&behind, Some(3)).unwrap()), [1, 2]);
    }

    #[test]
    fn repeated_values_alone_leave_a_trace_open() {
        let twice = |ops: &[_]| resolved(ops, None).unwrap().is_open();
        // Different values read, the same written.
        assert!(twice(&[(0, None, 5), (1, None, 7), (2, Some(5), 6), (3, Some(7), 6)]));
        // Two that read a value which is itself repeated may have read different writes.
        assert!(twice(&[(0, None, 5), (1, None, 5), (2, Some(5), 6), (3, Some(5), 6)]));
        let initial = resolved(&[(0, None, 0), (1, Some(0), 6), (2, Some(0), 6)], None);
        assert!(initial.unwrap().is_open());
    }

    #[test]
    fn a_value_that_nobody_wrote_shows_beside_repeated_ones() {
        let trace = resolved(&[(0, None, 5), (1, None, 5), (2, Some(9), 6)], None).unwrap();
        assert!(trace.has_unwritten());
        assert!(resolved(&[(0, None, 5), (1, None, 5)], Some(9)).unwrap().has_unwritten());
        assert!(resolved(&[(0, None, 5), (1, None, 5)], Some(5)).unwrap().is_open());
    }
}
