//! The abstract machine of WMO.
//!
//! Problem: can a machine whose threads perform their operations out of order produce the recorded values?
//!
//! Algorithm: depth-first search over states, each visited once. A step performs any operation of any thread, on
//! memory, unless an earlier operation of its thread that is not yet performed makes it wait:
//! 1. anything waits for an earlier load (or read-modify-write) of its address, or one that ended before it began;
//! 2. a store (or read-modify-write) waits for an earlier store of its address;
//! 3. a barrier makes what follows it wait for what precedes it, for the pairs in its mask.
//!
//! So a load never waits for a store, except across a barrier: it takes the value of the last store to its address that
//! its thread has not yet performed, if there is one. An acquire or a release is a load and a store here. Times are
//! compared inside a thread only.

use crate::machine::Memory;
use membar_core::{Mask, OpId, OpKind, Trace};
use std::collections::HashSet;

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// One bit per operation.
    performed: u64,
    memory: Memory,
}

pub(crate) fn decide(trace: &Trace) -> bool {
    run(trace, State { performed: 0, memory: Memory::new(trace) }, &mut HashSet::new())
}

fn run(trace: &Trace, state: State, seen: &mut HashSet<State>) -> bool {
    if !seen.insert(state.clone()) {
        return false;
    }
    let waiting = |op: &OpId| state.performed & (1 << op.0) == 0;
    if !trace.memory_ops().any(|op| waiting(&op)) {
        return state.memory.ends_well(trace);
    }
    trace.memory_ops().filter(waiting).any(|op| perform(trace, &state, op).is_some_and(|new| run(trace, new, seen)))
}

fn perform(trace: &Trace, state: &State, op: OpId) -> Option<State> {
    let mut new = State { performed: state.performed | 1 << op.0, memory: state.memory.clone() };
    // Walk back through the thread, gathering the barriers' pairs on the way.
    let mut barriers = Mask::NONE;
    let mut own = None;
    for &earlier in trace.thread_ops(trace.thread(op))[..trace.po(op) as usize].iter().rev() {
        let kind = trace.kind(earlier);
        if kind == OpKind::Fence {
            barriers = barriers | trace.mask(earlier).unwrap_or(Mask::FULL);
        } else if state.performed & (1 << earlier.0) == 0 {
            if waits(trace, op, earlier, barriers) {
                return None;
            }
            if own.is_none() && trace.addr(earlier) == trace.addr(op) {
                own = Some(trace.write(earlier));
            }
        }
    }
    let possible = match trace.kind(op) {
        OpKind::Load => own.unwrap_or(state.memory.read(trace, op)) == trace.read(op),
        OpKind::Store => new.memory.write(trace, op),
        OpKind::Rmw | OpKind::Acquire | OpKind::Release => new.memory.act(trace, op),
        OpKind::Fence => true,
    };
    possible.then_some(new)
}

fn waits(trace: &Trace, op: OpId, earlier: OpId, barriers: Mask) -> bool {
    let loads = |kind: OpKind| kind.reads() || kind.locks();
    let stores = OpKind::writes;
    let (kind, earlier_kind) = (trace.kind(op), trace.kind(earlier));
    let same_address = trace.addr(op) == trace.addr(earlier);
    let after = trace.ended_before(earlier, op);
    let across = |pair: Mask| barriers.contains(pair);
    let for_load = loads(earlier_kind)
        && (same_address
            || after
            || loads(kind) && across(Mask::LOAD_LOAD)
            || stores(kind) && across(Mask::LOAD_STORE));
    let for_store = stores(earlier_kind)
        && (stores(kind) && (same_address || across(Mask::STORE_STORE)) || loads(kind) && across(Mask::STORE_LOAD));
    for_load || for_store
}
