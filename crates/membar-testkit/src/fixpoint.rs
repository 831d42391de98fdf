//! The plain fixed point of rules R1 to R7.
//!
//! Problem: find orders that hold in every memory order that explains the recorded values; a cycle refutes the trace.
//!
//! Algorithm (figure 1 of the paper): with `L` a read, `S` the write that it returned, `S'` another write to that
//! address, `;` program order and `≤` memory order,
//! 1. R1, R2, R3: all pairs of one thread that the model or a barrier keeps in order, and all that time orders;
//! 2. R4: `S ≤ L`, unless `S ; L` and `L` is a plain load that the model lets read its thread's stores early;
//! 3. R5: `S' ; L ⇒ S' ≤ S` for such loads;
//! 4. A6: the `order` lines;
//! 5. R6: `S' ≤ L ⇒ S' ≤ S` and R7: `S ≤ S' ⇒ L ≤ S'`, until nothing changes.
//!
//! Two more nodes stand for the ends: one writes all initial values, before everything; one reads all recorded final
//! values, after everything. Acquires and releases are read-modify-writes of their lock; a release reads from its
//! acquire.
//!
//! Where the model has no write order, memory order is partial. R4 then holds for a thread's own stores too, R5, R6 and
//! R7 hold for locks only, and a write between a read and the write that it returned refutes the trace.
//!
//! Complexity: O(n^5); a closure is O(n^3), and each round adds an edge.
//!
//! Guarantees: [`Outcome::Refuted`] is right for every model. [`Outcome::Open`] says nothing.
//!
//! Deviations from the paper: it treats TSO, we take the kept pairs from the model, because the other rules hold in all
//! of them; a swap is one node here, not two that share their edges, because nothing ever goes between them.
//!
//! References: Manovit and Hangal, "Efficient Algorithms for Verifying Memory Consistency", SPAA 2005.

use crate::orders::{keeps, timed};
use membar_core::{AddrId, AddrName, Model, OpId, OpKind, Source, Trace};

/// The findings of the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// A cycle, or a read of a value that nobody writes: the model forbids the trace.
    Refuted,
    /// No cycle: the trace may be allowed.
    Open,
}

/// A read: its node, its address and the node of the write that it returned.
struct Read {
    node: usize,
    addr: AddrId,
    source: usize,
}

/// `before[a][b]`: a ≤ b, and a ≠ b unless there is a cycle.
struct Relation {
    before: Vec<Vec<bool>>,
}

impl Relation {
    fn add(&mut self, a: usize, b: usize) -> bool {
        !std::mem::replace(&mut self.before[a][b], true)
    }

    fn close(&mut self) {
        let n = self.before.len();
        for k in 0..n {
            let row = self.before[k].clone();
            for from in self.before.iter_mut().filter(|from| from[k]) {
                from.iter_mut().zip(&row).for_each(|(to, &via)| *to |= via);
            }
        }
    }

    fn cyclic(&self) -> bool {
        (0..self.before.len()).any(|i| self.before[i][i])
    }
}

/// Applies the rules to a resolved trace until nothing changes.
pub fn refute(trace: &Trace, model: &Model) -> Outcome {
    if trace.has_unwritten() {
        return Outcome::Refuted;
    }
    let (init, end) = (trace.len(), trace.len() + 1);
    let node_of = |source: Source| source.as_op().map_or(init, OpId::index);
    let mut order = Relation { before: vec![vec![false; end + 1]; end + 1] };

    order.add(init, end);
    for op in trace.ops() {
        order.add(init, op.index());
        order.add(op.index(), end);
    }
    for (earlier, later) in pairs(trace) {
        if keeps(trace, model, earlier, later) || timed(trace, model, earlier, later) {
            order.add(earlier.index(), later.index());
        }
    }
    for writes in trace.order_ops() {
        for pair in writes.windows(2) {
            order.add(pair[0].index(), pair[1].index());
        }
    }

    let mut reads = Vec::new();
    for op in trace.ops() {
        let reads_early = trace.kind(op) == OpKind::Load && model.store_forwarding && model.write_order;
        let own_earlier = |other: OpId| trace.thread(other) == trace.thread(op) && trace.po(other) < trace.po(op);
        let is_read = match trace.kind(op) {
            OpKind::Load | OpKind::Rmw => true,
            OpKind::Release => model.lock_exclusion,
            OpKind::Store | OpKind::Fence | OpKind::Acquire => false,
        };
        if !is_read {
            continue;
        }
        let read = Read { node: op.index(), addr: trace.addr(op), source: node_of(trace.source(op)) };
        if !trace.source(op).as_op().is_some_and(|source| reads_early && own_earlier(source)) {
            order.add(read.source, read.node);
        }
        for own in writes(trace, read.addr).filter(|&own| reads_early && own_earlier(own)) {
            if own.index() != read.source {
                order.add(own.index(), read.source);
            }
        }
        reads.push(read);
    }
    for (end_line, &source) in trace.finals.iter().zip(trace.final_sources()) {
        reads.push(Read { node: end, addr: end_line.addr, source: node_of(source) });
    }
    // Without a write order, what is inferred from a read is about locks only.
    let (inferring, rest): (Vec<Read>, Vec<Read>) =
        reads.into_iter().partition(|read| model.write_order || is_lock(trace, read.addr));
    order.close();
    while !order.cyclic() && infer(trace, &inferring, &mut order) {
        order.close();
    }
    let overwritten = |read: &Read| {
        let between = |op: OpId| order.before[read.source][op.index()] && order.before[op.index()][read.node];
        writes(trace, read.addr).any(between)
    };
    if order.cyclic() || rest.iter().any(overwritten) { Outcome::Refuted } else { Outcome::Open }
}

/// R6 and R7, once for every read and write.
fn infer(trace: &Trace, reads: &[Read], order: &mut Relation) -> bool {
    let mut changed = false;
    for &Read { node, addr, source } in reads {
        for other in writes(trace, addr).map(OpId::index).filter(|&other| other != source && other != node) {
            if order.before[other][node] {
                changed |= order.add(other, source);
            }
            if order.before[source][other] {
                changed |= order.add(node, other);
            }
        }
    }
    changed
}

fn writes(trace: &Trace, addr: AddrId) -> impl Iterator<Item = OpId> {
    trace.memory_ops().filter(move |&op| trace.kind(op).writes() && trace.addr(op) == addr)
}

fn is_lock(trace: &Trace, addr: AddrId) -> bool {
    matches!(trace.addr_names()[addr.index()], AddrName::Lock(_))
}

fn pairs(trace: &Trace) -> impl Iterator<Item = (OpId, OpId)> {
    trace.ops().flat_map(move |a| trace.ops().map(move |b| (a, b)))
}
