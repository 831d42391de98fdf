//! Models without a write order: location consistency.
//!
//! Problem: memory order is partial, and a read may return any write that it has not seen overwritten. Is there an order
//! of the sessions of each lock that makes it so?
//!
//! Algorithm: memory order is the transitive closure of
//! 1. kept program order (the model's table and barriers) and time;
//! 2. reads-from, also of a thread's own writes;
//! 3. the `order` lines;
//! 4. the initial values before everything, and the reading of the final values after everything;
//! 5. per lock, a total order of its sessions: each release before the next acquire.
//!
//! It must have no cycle, and for no read of `w` may there be another write `w'` to that address with `w → w' → read`.
//! All orders of sessions are tried, one session after the other. An order that fails for some of them fails for more,
//! so the search goes back as soon as one of the two conditions fails.
//!
//! Complexity: O(s! n^2) machine words for s sessions of a lock.

use crate::orders::{keeps, timed};
use membar_core::{AddrId, Model, OpId, OpKind, Source, Trace};

/// Does a model without write order allow the trace? The trace is resolved and has at most 64 operations.
pub fn decide(trace: &Trace, model: &Model) -> bool {
    assert!(trace.len() <= 64, "the oracle takes at most 64 operations");
    if trace.has_unwritten() {
        return false;
    }
    let (init, end) = (trace.len(), trace.len() + 1);
    let mut order = Order { after: vec![0; end + 1] };
    order.add(init, end);
    for op in trace.memory_ops() {
        order.add(init, op.index());
        order.add(op.index(), end);
        for later in trace.memory_ops() {
            if keeps(trace, model, op, later) || timed(trace, model, op, later) {
                order.add(op.index(), later.index());
            }
        }
    }
    for writes in trace.order_ops() {
        for pair in writes.windows(2) {
            order.add(pair[0].index(), pair[1].index());
        }
    }
    let node = |source: Source| source.as_op().map_or(init, OpId::index);
    let mut reads = Vec::new();
    for op in trace.ops().filter(|&op| trace.kind(op).reads()) {
        reads.push(Read { node: op.index(), addr: trace.addr(op), source: node(trace.source(op)) });
        order.add(node(trace.source(op)), op.index());
    }
    for (line, &source) in trace.finals.iter().zip(trace.final_sources()) {
        reads.push(Read { node: end, addr: line.addr, source: node(source) });
    }
    let sessions = trace.ops().filter(|&op| model.lock_exclusion && trace.kind(op) == OpKind::Acquire).collect();
    Search { trace, reads }.order_sessions(order, sessions, &mut vec![None; trace.addrs()])
}

/// A read: its node, its address and the node of the write that it returned.
struct Read {
    node: usize,
    addr: AddrId,
    source: usize,
}

/// Per node, the set of nodes after it.
#[derive(Clone)]
struct Order {
    after: Vec<u128>,
}

impl Order {
    fn add(&mut self, a: usize, b: usize) {
        self.after[a] |= 1 << b;
    }

    fn before(&self, a: usize, b: usize) -> bool {
        self.after[a] >> b & 1 != 0
    }

    /// Floyd and Warshall's transitive closure.
    fn close(&mut self) {
        for via in 0..self.after.len() {
            let row = self.after[via];
            for after in self.after.iter_mut().filter(|after| **after >> via & 1 != 0) {
                *after |= row;
            }
        }
    }
}

struct Search<'a> {
    trace: &'a Trace,
    reads: Vec<Read>,
}

impl Search<'_> {
    /// Puts the acquires that are left into some order behind the last release of their lock.
    fn order_sessions(&self, mut order: Order, left: Vec<OpId>, last: &mut Vec<Option<OpId>>) -> bool {
        order.close();
        if !self.holds(&order) {
            return false;
        }
        // Locks one after the other: all sessions of the first lock that has any left.
        let Some(lock) = left.first().map(|&acquire| self.trace.addr(acquire)) else { return true };
        left.iter().filter(|&&acquire| self.trace.addr(acquire) == lock).any(|&acquire| {
            let mut more = order.clone();
            let before = last[lock.index()];
            if let Some(release) = before {
                more.add(release.index(), acquire.index());
            }
            last[lock.index()] = self.trace.partner(acquire);
            let rest = left.iter().copied().filter(|&other| other != acquire).collect();
            let found = self.order_sessions(more, rest, last);
            last[lock.index()] = before;
            found
        })
    }

    /// No cycle, and no read of what it saw overwritten?
    fn holds(&self, order: &Order) -> bool {
        let trace = self.trace;
        let cycle = (0..order.after.len()).any(|node| order.before(node, node));
        let overwritten = |read: &Read| {
            let between = |op: OpId| order.before(read.source, op.index()) && order.before(op.index(), read.node);
            trace.memory_ops().any(|op| trace.kind(op).writes() && trace.addr(op) == read.addr && between(op))
        };
        !cycle && !self.reads.iter().any(overwritten)
    }
}
