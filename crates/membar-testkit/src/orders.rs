//! All memory orders of a trace.
//!
//! Problem: is there a total order of the operations that keeps what the model preserves of program order and what the
//! timestamps say, and in which every read returns its recorded value? For any model; where the model has no write
//! order, memory order is partial and [`location`] decides.
//!
//! Algorithm: depth-first. Repeatedly place, as next in memory order, any operation that
//! 1. has all operations placed that the model, a barrier or time keeps before it (compared pair by pair);
//! 2. returns its recorded value: the value of the last write to its address placed so far or, for a plain load where
//!    the model forwards stores, of its own thread's last earlier store to that address if that one is not yet placed;
//! 3. is the next of its address's `order` line, if there is one and it writes;
//! 4. finds the lock free (an acquire), or held by its own acquire (a release);
//! 5. directly follows the write that its thread's reservation ties it to, if it is such a store.
//!
//! When all are placed, the last writes must be those of the `final` lines. The continuation depends only on the set of
//! placed operations and the last write of each address, so each such state is tried once.
//!
//! Invariant (of a model): one thread's stores to one address keep their order. So in step 2 an own store that is not
//! yet placed is later in memory order than every placed one, and the last of them in program order is the maximum.
//!
//! Complexity: O(2^n) states in the worst case, in practice the product of the threads' lengths times the write orders.

use crate::{location, riscv};
use membar_core::{Compare, Kind, Model, OpId, OpKind, Source, Trace};
use rustc_hash::FxHashSet;

/// Does the model allow the trace? The trace is resolved and has at most 64 operations.
pub fn decide(trace: &Trace, model: &Model) -> bool {
    assert!(trace.len() <= 64, "the oracle takes at most 64 operations");
    if !model.write_order {
        return location::decide(trace, model);
    }
    if trace.has_unwritten() || trace.unreserved().is_some() {
        return false;
    }
    let goes_first = |op: OpId, later: OpId| keeps(trace, model, op, later) || timed(trace, model, op, later);
    let before = trace
        .ops()
        .map(|later| trace.memory_ops().filter(|&op| goes_first(op, later)).fold(0, |set, op| set | bit(op)))
        .collect();
    let mut search = Search { trace, model, before, seen: FxHashSet::default() };
    search.place(State { placed: 0, last: vec![None; trace.addrs()] })
}

/// Is `earlier` before `later` in every memory order, because of the model's table or of a barrier between them?
pub fn keeps(trace: &Trace, model: &Model, earlier: OpId, later: OpId) -> bool {
    let thread = trace.thread(earlier);
    if thread != trace.thread(later) || trace.po(earlier) >= trace.po(later) {
        return false;
    }
    let between = &trace.thread_ops(thread)[trace.po(earlier) as usize + 1..trace.po(later) as usize];
    let across = |&op: &OpId| barrier_keeps(trace, model, op, earlier, later);
    keeps_by_table(trace, model, earlier, later) || between.iter().any(across)
}

/// Does the model's table keep this order? The two are of one thread, in program order.
pub fn keeps_by_table(trace: &Trace, model: &Model, earlier: OpId, later: OpId) -> bool {
    let holds = |e: Kind, l: Kind| {
        let when = model.ppo.entry(e, l);
        when.always
            || when.same_address && trace.addr(earlier) == trace.addr(later)
            || when.same_session && one_session(trace, (earlier, e), (later, l))
            || when.guarded && guarded(trace, (earlier, e), (later, l))
            || when.time && trace.ended_before(earlier, later)
            || !l.locks()
                && !e.locks()
                && when.also.iter().any(|condition| riscv::holds(trace, condition, earlier, later))
    };
    trace.kind(earlier).kinds().iter().any(|e| trace.kind(later).kinds().iter().any(|l| holds(e, l)))
}

/// Does this operation, if it is a barrier, keep two operations in order that are on its two sides?
pub fn barrier_keeps(trace: &Trace, model: &Model, fence: OpId, earlier: OpId, later: OpId) -> bool {
    let rows = trace.mask(fence).unwrap_or(model.sync).rows();
    let later = trace.kind(later).kinds();
    trace.kind(fence) == OpKind::Fence && trace.kind(earlier).kinds().iter().any(|e| rows[e as usize].meets(later))
}

/// For an acquire or a release, is the other operation in its session (of two such, in the session of either)? For two
/// accesses, does some session hold both?
fn one_session(trace: &Trace, (earlier, e): (OpId, Kind), (later, l): (OpId, Kind)) -> bool {
    let session = |acquire: OpId| {
        let release = trace.partner(acquire).expect("an acquire has a release");
        trace.po(acquire)..=trace.po(release)
    };
    let holds = |acquire: OpId, op: OpId| session(acquire).contains(&trace.po(op));
    let acquire_of = |op: OpId, kind: Kind| match kind {
        Kind::Acquire => Some(op),
        Kind::Release => trace.partner(op),
        Kind::Load | Kind::Store => None,
    };
    if e.locks() || l.locks() {
        acquire_of(earlier, e).is_some_and(|acquire| holds(acquire, later))
            || acquire_of(later, l).is_some_and(|acquire| holds(acquire, earlier))
    } else {
        let mut ops = trace.thread_ops(trace.thread(earlier)).iter();
        ops.any(|&op| trace.kind(op) == OpKind::Acquire && holds(op, earlier) && holds(op, later))
    }
}

/// Is one of the two an operation on a lock that guards the address that the other accesses?
fn guarded(trace: &Trace, (earlier, e): (OpId, Kind), (later, l): (OpId, Kind)) -> bool {
    let guards = |lock: OpId, access: OpId| {
        let on = |guard: &&membar_core::Guard| guard.lock == trace.addr(lock);
        trace.guards.iter().filter(on).any(|guard| guard.addrs.contains(&trace.addr(access)))
    };
    match (e.locks(), l.locks()) {
        (true, false) => guards(earlier, later),
        (false, true) => guards(later, earlier),
        _ => false,
    }
}

/// Is `first` before `second` in every memory order, because it had taken effect before the other began? By a clock of
/// its own, a thread tells so of its operations in program order only.
pub fn timed(trace: &Trace, model: &Model, first: OpId, second: OpId) -> bool {
    let fence = |op: OpId| trace.kind(op) == OpKind::Fence;
    let comparable = match trace.compare() {
        Compare::Nothing => false,
        Compare::Threads => trace.thread(first) == trace.thread(second) && trace.po(first) < trace.po(second),
        Compare::Everything => true,
    };
    comparable
        && !fence(first)
        && !fence(second)
        && model.done_at_end(trace.kind(first))
        && trace.ended_before(first, second)
}

fn bit(op: OpId) -> u64 {
    1 << op.0
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// One bit per operation.
    placed: u64,
    /// Last write of each address, last operation on each lock.
    last: Vec<Option<OpId>>,
}

struct Search<'a> {
    trace: &'a Trace,
    model: &'a Model,
    /// Per operation, those that go before it.
    before: Vec<u64>,
    seen: FxHashSet<State>,
}

impl Search<'_> {
    fn place(&mut self, state: State) -> bool {
        if !self.seen.insert(state.clone()) {
            return false;
        }
        let trace = self.trace;
        let mut open = trace.memory_ops().filter(|&op| state.placed & bit(op) == 0).peekable();
        if open.peek().is_none() {
            return self.ends_well(&state);
        }
        open.any(|op| {
            if !self.may_be_next(&state, op) {
                return false;
            }
            let mut next = state.clone();
            next.placed |= bit(op);
            if trace.kind(op).writes() {
                next.last[trace.addr(op).index()] = Some(op);
            }
            self.place(next)
        })
    }

    fn may_be_next(&self, state: &State, op: OpId) -> bool {
        let trace = self.trace;
        let last = state.last[trace.addr(op).index()];
        let fits = match trace.kind(op) {
            OpKind::Load => {
                let own = self.forwarded(state, op);
                same(trace.source(op), own.or(last))
            }
            OpKind::Rmw => same(trace.source(op), last),
            OpKind::Acquire if self.model.lock_exclusion => last.is_none_or(|last| trace.kind(last) == OpKind::Release),
            OpKind::Release if self.model.lock_exclusion => same(trace.source(op), last),
            // A reservation is held.
            OpKind::Store if trace.source(op) != Source::NONE => same(trace.source(op), last),
            OpKind::Store | OpKind::Acquire | OpKind::Release | OpKind::Fence => true,
        };
        fits && self.before[op.index()] & !state.placed == 0
            && trace.order_ops().iter().all(|order| match order.iter().position(|&other| other == op) {
                Some(at) => order[..at].iter().all(|&earlier| state.placed & bit(earlier) != 0),
                None => true,
            })
    }

    /// The own store whose value a load takes before that store is in memory order.
    fn forwarded(&self, state: &State, load: OpId) -> Option<OpId> {
        let trace = self.trace;
        let earlier = &trace.thread_ops(trace.thread(load))[..trace.po(load) as usize];
        let waits =
            |&op: &OpId| trace.kind(op).writes() && trace.addr(op) == trace.addr(load) && state.placed & bit(op) == 0;
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
