//! Preserved program order and time as few edges.
//!
//! Problem: the model orders pairs of one thread's operations (by kind, by address, by session, by guard, across
//! barriers), and timestamps order pairs of one or of all threads. List edges whose transitive closure, seen from
//! operations, is exactly that order.
//!
//! Algorithm: one walk along each thread.
//! 1. *Always* entries from a kind that is itself in order (loads among loads, say) need only the last operation of the
//!    earlier kind.
//! 2. *Always* entries from a kind that is not in order among itself, and barriers, use a *collector*: a node after all
//!    operations of the earlier kinds and before all of the later kinds. Collectors of one kind pair form a chain, so an
//!    operation gets one edge into the next collector and one out of the last.
//! 3. *Same-address* entries keep the last operation of each kind (or, where loads of one address are unordered, all
//!    loads since the last store) of each address and lock.
//! 4. *Same-session* entries keep the sessions that are open: an access comes after their acquires, a release after what
//!    its session holds; entries between accesses have a chain of collectors in each session.
//! 5. *Guarded* entries keep, for each lock, the accesses to what it guards since its last release.
//! 6. *Time* uses a chain of collectors sorted by time: an operation that ended at `e` enters the chain at `e`, one that
//!    began at `b` leaves it just before `b`. One chain serves all threads if they have one clock. With a clock each, time
//!    counts in program order only: where the chain would relate a later operation to an earlier one, the thread is
//!    split in halves, each half by itself, then the first half to the second.
//!
//! 7. Conditions about marks, dependencies and what was read: see [`said`].
//!
//! Complexity: O(n) edges, and one for each dependency; times the number of sessions open at once for 4, of locks that guard one address for 5;
//! O(n log n) for 6.
//!
//! Guarantees: a path between two operations that passes only collectors implies that the *pair itself* is ordered by
//! the model, by one barrier between them or by time; proofs rely on this to name one rule for it.
//!
//! References: Lv et al., "Efficiently and completely verifying synchronized consistency models", 2014, section 3 (local
//! order) and Definition 1 (relaxed time order: a store's relaxed commit time is the earliest one of what follows it, which
//! here is a path from the store to that and on along the chain of 6).

mod said;
mod walk;

use membar_core::{Compare, Kind, Kinds, Model, OpId, OpKind, Ppo, Source, ThreadId, Trace, When};
use said::Said;
use walk::Walk;

/// Edges and collectors of one trace.
#[derive(Default)]
pub(crate) struct PpoEdges {
    /// (earlier, later), nodes numbered as in [`crate::problem::Problem`].
    pub edges: Vec<(u32, u32)>,
    /// Next unused node.
    pub next_node: u32,
    scratch: Scratch,
}

const NONE: u32 = u32::MAX;

/// Per earlier kind, the later kinds that are ordered after it.
type Rows = [Kinds; 4];

/// All collectors of one pair of kind sets, in one thread or session.
#[derive(Default)]
struct Chain {
    from: Kinds,
    to: Kinds,
    /// The last collector, and the place in program order where it was made.
    tail: Option<(u32, u32)>,
    /// The last operation of each kind not yet behind a collector, where it stands for all earlier ones.
    last: [Option<u32>; 4],
    /// Other operations not yet behind a collector.
    pending: Vec<u32>,
}

impl Chain {
    fn waits(&self) -> bool {
        !self.pending.is_empty() || self.last != [None; 4]
    }

    /// Makes `collector` the next one, at `place` in program order.
    fn collect(&mut self, collector: u32, place: u32, edges: &mut Vec<(u32, u32)>) {
        edges.extend(self.pending.drain(..).map(|op| (op, collector)));
        edges.extend(self.last.iter_mut().filter_map(Option::take).map(|op| (op, collector)));
        if let Some((tail, _)) = self.tail {
            edges.push((tail, collector));
        }
        self.tail = Some((collector, place));
    }
}

/// A session that has begun and not yet ended.
struct Session {
    lock: u32,
    acquire: u32,
    /// The nodes that the release has to come after.
    inside: Vec<u32>,
    /// Same-session entries between accesses.
    chains: Vec<Chain>,
}

#[derive(Default)]
struct Scratch {
    chains: Vec<Chain>,
    /// Per address the last load and the last store; per lock the last acquire and the last release.
    last: [Vec<u32>; 2],
    /// Loads of an address since its last store, linked, where they are not ordered among themselves.
    open_loads: Vec<u32>,
    next_open: Vec<u32>,
    touched: Vec<u32>,
    preds: Vec<u32>,
    sessions: Vec<Session>,
    /// Per address the locks that guard it; empty if no entry asks.
    guards: Vec<Vec<u32>>,
    /// Per lock the accesses to what it guards, since its last acquire and since its last release.
    guarded: [Vec<Vec<u32>>; 2],
    said: Said,
}

/// A new node.
fn fresh(next_node: &mut u32) -> u32 {
    *next_node += 1;
    *next_node - 1
}

/// In which of two columns a kind is kept.
fn column(kind: Kind) -> usize {
    kind as usize & 1
}

/// Splits a table into rectangles of kinds: at most four.
fn rectangles(rows: Rows) -> impl Iterator<Item = (Kinds, Kinds)> {
    (0..4).filter_map(move |i| {
        let first = !rows[i].is_empty() && !rows[..i].contains(&rows[i]);
        first.then(|| {
            let from = (0..4).filter(|&j| rows[j] == rows[i]).fold(0, |all, j| all | 1 << j);
            (Kinds(from), rows[i])
        })
    })
}

/// The pairs that a barrier orders besides what is in order anyway.
fn barrier(trace: &Trace, model: &Model, always: &Rows, fence: OpId) -> Rows {
    let mut rows = trace.mask(fence).unwrap_or(model.sync).rows();
    for (row, always) in rows.iter_mut().zip(always) {
        row.0 &= !always.0;
    }
    rows
}

/// The later kinds for which a barrier's own node is the collector.
pub(crate) fn first_collected(trace: &Trace, model: &Model, fence: OpId) -> Kinds {
    let always = model.ppo.rows(|when| when.always);
    rectangles(barrier(trace, model, &always, fence)).next().map_or(Kinds::NONE, |(_, to)| to)
}

/// Does any entry from one of these kinds to one of those satisfy `test`?
fn any_entry(ppo: &Ppo, earlier: Kinds, later: Kinds, test: impl Fn(When) -> bool) -> bool {
    earlier.iter().any(|e| later.iter().any(|l| test(ppo.entry(e, l))))
}

const LOCKS: [Kind; 2] = [Kind::Acquire, Kind::Release];

impl PpoEdges {
    /// Lists the edges of `trace` under `model`. Nodes `0..n` are the operations in (thread, program order) order;
    /// collectors are numbered from `first_collector`. `other` says that one read returned something else than recorded.
    pub fn build(&mut self, trace: &Trace, model: &Model, first_collector: u32, other: Option<(OpId, Source)>) {
        self.edges.clear();
        self.next_node = first_collector;
        let s = &mut self.scratch;
        let addrs = trace.addrs();
        let [loads, stores] = &mut s.last;
        for column in [loads, stores, &mut s.open_loads] {
            column.clear();
            column.resize(addrs, NONE);
        }
        s.next_open.clear();
        if !model.ppo.entry(Kind::Load, Kind::Load).on_one_address() {
            s.next_open.resize(trace.len(), NONE);
        }
        s.guards.clear();
        if model.ppo.any(|when| when.guarded) {
            s.guards.resize(addrs, Vec::new());
            for guard in &trace.guards {
                for addr in &guard.addrs {
                    s.guards[addr.index()].push(guard.lock.0);
                }
            }
            for lists in &mut s.guarded {
                lists.resize_with(addrs, Vec::new);
            }
        }
        s.said.start(trace, model, other);
        let always = model.ppo.rows(|when| when.always);
        let mut base = 0u32;
        for t in 0..trace.threads() {
            let ops = trace.thread_ops(ThreadId(t as u32));
            Walk::new(self, trace, model, &always, (ops, base)).run();
            if trace.has_times() {
                self.time(trace, model, &always, ops, base);
            }
            base += ops.len() as u32;
        }
        if trace.has_times() && trace.compare() == Compare::Everything {
            self.global_time(trace, model);
        }
    }

    /// Time inside one thread: the model's entries, and the time axiom unless one chain for all threads follows.
    fn time(&mut self, trace: &Trace, model: &Model, always: &Rows, ops: &[OpId], base: u32) {
        let mut rows = model.ppo.rows(|when| when.time);
        for (kind, row) in Kind::ALL.into_iter().zip(&mut rows) {
            if kind != Kind::Store || model.atomic_writes {
                *row = if trace.compare() == Compare::Everything { Kinds::NONE } else { Kinds(15) };
            }
            row.0 &= !always[kind as usize].0;
        }
        let mut timed: Vec<Timed> = Vec::new();
        for (from, to) in rectangles(rows) {
            timed.clear();
            for (i, &op) in ops.iter().enumerate() {
                let (me, period) = (trace.kind(op).kinds(), trace.period(op));
                let begin = period.begin.filter(|_| me.meets(to));
                let end = period.end.filter(|_| me.meets(from));
                if begin.is_some() || end.is_some() {
                    timed.push(Timed { node: base + i as u32, begin, end });
                }
            }
            self.time_range(&timed);
        }
    }

    /// The time axiom where all threads have one clock.
    fn global_time(&mut self, trace: &Trace, model: &Model) {
        let mut timed: Vec<Timed> = Vec::new();
        let mut node = 0;
        for t in 0..trace.threads() {
            for &op in trace.thread_ops(ThreadId(t as u32)) {
                let (kind, period) = (trace.kind(op), trace.period(op));
                if kind != OpKind::Fence {
                    let end = period.end.filter(|_| model.done_at_end(kind));
                    timed.push(Timed { node, begin: period.begin, end });
                }
                node += 1;
            }
        }
        self.time_chain(&timed, &timed);
    }

    fn time_range(&mut self, timed: &[Timed]) {
        if timed.len() < 2 {
            return;
        }
        // Would one chain for all relate a later operation to an earlier one?
        let mut latest = None;
        let backwards = timed.iter().any(|op| {
            let wrong = matches!((op.end, latest), (Some(end), Some(begin)) if end < begin);
            latest = latest.max(op.begin);
            wrong
        });
        if !backwards {
            self.time_chain(timed, timed);
        } else {
            let (first, second) = timed.split_at(timed.len() / 2);
            self.time_range(first);
            self.time_range(second);
            self.time_chain(first, second);
        }
    }

    fn time_chain(&mut self, from: &[Timed], to: &[Timed]) {
        let mut ends: Vec<(u64, u32)> = from.iter().filter_map(|op| Some((op.end?, op.node))).collect();
        let mut begins: Vec<(u64, u32)> = to.iter().filter_map(|op| Some((op.begin?, op.node))).collect();
        // Times mostly grow along a thread, and this kind of sorting makes use of such runs.
        ends.sort();
        begins.sort();
        let mut entered = 0;
        let mut tail = NONE;
        for (begin, node) in begins {
            let upto = entered + ends[entered..].partition_point(|&(end, _)| end < begin);
            if upto > entered {
                let collector = self.next_node;
                self.next_node += 1;
                self.edges.extend(ends[entered..upto].iter().map(|&(_, from)| (from, collector)));
                if tail != NONE {
                    self.edges.push((tail, collector));
                }
                (tail, entered) = (collector, upto);
            }
            if tail != NONE {
                self.edges.push((tail, node));
            }
        }
    }
}

/// An operation that can be on either side of a time entry.
#[derive(Clone, Copy)]
struct Timed {
    node: u32,
    begin: Option<u64>,
    end: Option<u64>,
}
