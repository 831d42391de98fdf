//! All memory orders of a trace.
//!
//! Problem: is there a total order of the operations that keeps what the model preserves of program order and in which
//! every read returns its recorded value? For any model.
//!
//! Algorithm: depth-first. Repeatedly place, as next in memory order, any operation that
//! 1. has all operations placed that the model or a barrier keeps before it (compared pair by pair);
//! 2. returns its recorded value: the value of the last write to its address placed so far or, for a plain load where
//!    the model forwards stores, of its own thread's last earlier store to that address if that one is not yet placed;
//! 3. is the next of its address's `order` line, if there is one and it writes;
//! 4. finds the lock free (an acquire), or held by its own acquire (a release).
//!
//! When all are placed, the last writes must be those of the `final` lines. What can follow depends only on the set of
//! placed operations and the last write of each address, so each such state is tried once.
//!
//! Invariant (of a model): one thread's stores to one address keep their order. So in step 2 an own store that is not
//! yet placed is later in memory order than every placed one, and the last of them in program order is the maximum.
//!
//! Complexity: O(2^n) states in the worst case, in practice the product of the threads' lengths times the write orders.

use membar_core::{Mask, Model, OpId, OpKind, Source, Trace};
use std::collections::HashSet;

/// Does the model allow the trace? The trace is resolved and has at most 64 operations.
pub fn decide(trace: &Trace, model: &Model) -> bool {
    assert!(trace.len() <= 64, "the oracle takes at most 64 operations");
    if trace.ops().any(|op| trace.source(op) == Source::UNWRITTEN) {
        return false;
    }
    let before = trace.ops().map(|later| trace.ops().filter(|&op| keeps(trace, model, op, later)).collect()).collect();
    let mut search = Search { trace, model, before, seen: HashSet::new() };
    search.place(State { placed: vec![false; trace.len()], last: vec![None; trace.addrs()] })
}

/// Is `earlier` before `later` in every memory order, because of program order alone?
pub fn keeps(trace: &Trace, model: &Model, earlier: OpId, later: OpId) -> bool {
    let (e, l) = (trace.op(earlier), trace.op(later));
    if e.thread != l.thread || trace.po(earlier) >= trace.po(later) {
        return false;
    }
    let between = |op: &&OpId| trace.po(**op) > trace.po(earlier) && trace.po(**op) < trace.po(later);
    [false, true].into_iter().any(|e_stores| {
        [false, true].into_iter().any(|l_stores| {
            let is = |kind: OpKind, stores: bool| if stores { kind.stores() } else { kind.loads() };
            if !is(e.kind, e_stores) || !is(l.kind, l_stores) {
                return false;
            }
            let when = model.ppo.entry(e_stores, l_stores);
            when.always
                || when.same_address && e.addr == l.addr
                || when.time && e.span.before(l.span)
                || trace.thread_ops(e.thread).iter().filter(between).any(|&op| {
                    let orders = trace.mask(op).unwrap_or(model.sync);
                    trace.kind(op) == OpKind::Fence && orders.contains(Mask::pair(e_stores, l_stores))
                })
        })
    })
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    placed: Vec<bool>,
    /// Last write of each address, last operation on each lock.
    last: Vec<Option<OpId>>,
}

struct Search<'a> {
    trace: &'a Trace,
    model: &'a Model,
    before: Vec<Vec<OpId>>,
    seen: HashSet<State>,
}

impl Search<'_> {
    fn place(&mut self, state: State) -> bool {
        if !self.seen.insert(state.clone()) {
            return false;
        }
        let open: Vec<OpId> = self.trace.memory_ops().filter(|op| !state.placed[op.index()]).collect();
        if open.is_empty() {
            return self.ends_well(&state);
        }
        open.into_iter().any(|op| {
            if !self.may_be_next(&state, op) {
                return false;
            }
            let mut next = state.clone();
            next.placed[op.index()] = true;
            if self.trace.kind(op).stores() {
                next.last[self.trace.addr(op).index()] = Some(op);
            }
            self.place(next)
        })
    }

    fn may_be_next(&self, state: &State, op: OpId) -> bool {
        let trace = self.trace;
        let last = trace.addr(op).0 as usize;
        let last = state.last[last];
        let fits = match trace.kind(op) {
            OpKind::Load => {
                let own = self.forwarded(state, op);
                same(trace.source(op), own.or(last))
            }
            OpKind::Rmw => same(trace.source(op), last),
            OpKind::Acquire if self.model.lock_exclusion => last.is_none_or(|last| trace.kind(last) == OpKind::Release),
            OpKind::Release if self.model.lock_exclusion => same(trace.source(op), last),
            OpKind::Store | OpKind::Acquire | OpKind::Release | OpKind::Fence => true,
        };
        fits && self.before[op.index()].iter().all(|earlier| state.placed[earlier.index()])
            && trace.order_ops().iter().all(|order| match order.iter().position(|&other| other == op) {
                Some(at) => order[..at].iter().all(|earlier| state.placed[earlier.index()]),
                None => true,
            })
    }

    /// The own store whose value a load takes before that store is in memory order.
    fn forwarded(&self, state: &State, load: OpId) -> Option<OpId> {
        let trace = self.trace;
        let earlier = &trace.thread_ops(trace.thread(load))[..trace.po(load) as usize];
        let waits =
            |op: &OpId| trace.kind(*op).stores() && trace.addr(*op) == trace.addr(load) && !state.placed[op.index()];
        earlier.iter().copied().rfind(waits).filter(|_| self.model.store_forwarding)
    }

    fn ends_well(&self, state: &State) -> bool {
        let trace = self.trace;
        trace.finals.iter().zip(trace.final_sources()).all(|(end, &from)| same(from, state.last[end.addr.index()]))
    }
}

fn same(source: Source, last: Option<OpId>) -> bool {
    source == last.map_or(Source::INIT, Source::op)
}
