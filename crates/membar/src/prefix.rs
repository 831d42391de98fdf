//! How far a machine comes with a forbidden trace.
//!
//! Problem: sc, tso and pso are machines. A forbidden trace is one that the machine cannot do to the end; how far does it
//! come, and what would it have done next?
//!
//! Algorithm: breadth-first search over the machine's states. A thread makes its next operation (a store goes into the buffer, a
//! read is made only where it returns what was recorded), or a buffer gives its oldest store to memory. Of the states with
//! the most operations made, the first one found, but rather one in which the read to blame comes next.
//!
//! Guarantees: every step is one that the machine can do. If all states were visited, no run makes more operations. It is a
//! picture, never a verdict.

use crate::report::html;
use membar_core::{
    AddrId, Barrier, Mask, Model, OpId, OpKind, Proof, Relaxation, Source, StoreBuffer, ThreadId, Trace,
};
use std::collections::HashSet;

/// Operations of a trace that is run at most.
const MOST: usize = 64;
/// States that are visited at most.
const STATES: usize = 60_000;

/// The part that a proof needs, run as far as the machine comes; rather to the read to blame.
pub fn of(trace: &Trace, model: &Model, proof: &Proof, blamed: Option<OpId>) -> Option<html::Prefix> {
    let (ops, part) = html::part(trace, proof)?;
    let blamed = blamed.and_then(|read| ops.iter().position(|&op| op == read)).map(|at| OpId(at as u32));
    let found = longest(&part, model, blamed)?;
    let original = |op: OpId| ops[op.index()];
    Some(html::Prefix {
        steps: found.steps.iter().map(|&(commit, op)| (commit, original(op))).collect(),
        stuck: found.stuck.iter().map(|&(op, value)| (original(op), value)).collect(),
        longest: found.longest,
        ops,
    })
}

/// A run of the machine, as far as it goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// A commit or not, and the operation.
    pub steps: Vec<(bool, OpId)>,
    /// The operations that threads could not make, and what a read would have returned.
    pub stuck: Vec<(OpId, Option<u64>)>,
    /// Every state was visited.
    pub longest: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    next: Vec<u8>,
    buffers: Vec<StoreBuffer<AddrId, u8>>,
    /// The write in memory; `u8::MAX` is the initial value.
    memory: Vec<u8>,
}

const INIT: u8 = u8::MAX;

/// A machine: how its buffers give stores to memory, if it has any.
type Machine = Option<Relaxation>;

/// The longest run; `None` if the model is not a machine or the trace has something that the machine does not know.
pub fn longest(trace: &Trace, model: &Model, blamed: Option<OpId>) -> Option<Found> {
    if crate::model::builtin(&model.name) != Some(model) {
        return None;
    }
    let machine = match model.name.as_str() {
        "sc" => None,
        "tso" => Some(Relaxation::Tso),
        "pso" => Some(Relaxation::Pso),
        _ => return None,
    };
    let odd = |op: OpId| {
        let partial =
            trace.mask(op).is_some_and(|mask| machine == Some(Relaxation::Pso) && !mask.contains(Mask::STORE_LOAD));
        trace.kind(op).locks() || partial
    };
    if trace.len() > MOST || !trace.finals.is_empty() || !trace.orders.is_empty() || trace.ops().any(odd) {
        return None;
    }
    let start = State {
        next: vec![0; trace.threads()],
        buffers: vec![StoreBuffer::default(); trace.threads()],
        memory: vec![INIT; trace.addrs()],
    };
    let mut states = vec![(start.clone(), 0usize, (false, OpId(0)), 0usize)];
    let mut seen: HashSet<State> = [start].into();
    let mut at = 0;
    while at < states.len() && states.len() < STATES {
        let (state, made) = (states[at].0.clone(), states[at].3);
        for (next, step) in successors(trace, machine, &state) {
            if seen.insert(next.clone()) {
                let one = usize::from(!step.0 && trace.kind(step.1) != OpKind::Fence);
                states.push((next, at, step, made + one));
            }
        }
        at += 1;
    }
    let best = states.iter().map(|state| state.3).max()?;
    // A trace that finishes is not stuck: it is forbidden by something that the machine does not know.
    if best == trace.memory_ops().count() {
        return None;
    }
    let wanted = |state: &State| {
        (0..trace.threads()).any(|t| {
            blamed.is_some() && trace.thread_ops(ThreadId(t as u32)).get(usize::from(state.next[t])).copied() == blamed
        })
    };
    let furthest = || (0..states.len()).filter(|&i| states[i].3 == best);
    let end = furthest().find(|&i| wanted(&states[i].0)).or_else(|| furthest().next())?;
    let mut steps = Vec::new();
    let mut back = end;
    while back != 0 {
        if trace.kind(states[back].2.1) != OpKind::Fence {
            steps.push(states[back].2);
        }
        back = states[back].1;
    }
    steps.reverse();
    let state = &states[end].0;
    let stuck = (0..trace.threads()).filter_map(|t| {
        let thread = ThreadId(t as u32);
        let op = *trace.thread_ops(thread).get(usize::from(state.next[t]))?;
        let reads = trace.kind(op).reads();
        Some((op, reads.then(|| value(trace, returned(trace, state, t, op), op))))
    });
    // A thread that only waits for its buffer is not what is wrong.
    let stuck: Vec<_> = stuck.filter(|&(op, value)| value.is_some_and(|value| value != trace.read(op))).collect();
    Some(Found { steps, stuck, longest: at >= states.len() })
}

fn value(trace: &Trace, source: u8, op: OpId) -> u64 {
    if source == INIT { trace.initial(trace.addr(op)) } else { trace.write(OpId(u32::from(source))) }
}

/// The write that a read of this thread would return now.
fn returned(trace: &Trace, state: &State, thread: usize, op: OpId) -> u8 {
    let addr = trace.addr(op);
    state.buffers[thread].newest(addr).copied().unwrap_or(state.memory[addr.index()])
}

fn successors(trace: &Trace, machine: Machine, state: &State) -> Vec<(State, (bool, OpId))> {
    let mut found = Vec::new();
    for t in 0..trace.threads() {
        let buffer = &state.buffers[t];
        if let Some(&op) = trace.thread_ops(ThreadId(t as u32)).get(usize::from(state.next[t])) {
            let addr = trace.addr(op);
            let recorded = |source: u8| match trace.source(op) {
                Source::INIT => source == INIT,
                other => other.as_op() == Some(OpId(u32::from(source))) && source != INIT,
            };
            let mut next = state.clone();
            next.next[t] += 1;
            let able = match trace.kind(op) {
                OpKind::Store if machine.is_none() => {
                    next.memory[addr.index()] = op.0 as u8;
                    true
                }
                OpKind::Store => {
                    next.buffers[t].push(addr, op.0 as u8);
                    true
                }
                OpKind::Load => recorded(returned(trace, state, t, op)),
                OpKind::Rmw => {
                    next.memory[addr.index()] = op.0 as u8;
                    let waits = machine.is_some_and(|model| buffer.holds_back(model, Barrier::None, Some(addr)));
                    !waits && recorded(state.memory[addr.index()])
                }
                OpKind::Fence => {
                    let flushes = trace.mask(op).is_none_or(|mask| mask.contains(Mask::STORE_LOAD));
                    !flushes || buffer.is_empty()
                }
                OpKind::Acquire | OpKind::Release => false,
            };
            if able {
                found.push((next, (false, op)));
            }
        }
        for place in machine.iter().flat_map(|&model| buffer.ready(model)) {
            let mut next = state.clone();
            let store = next.buffers[t].commit(place);
            next.memory[store.addr.index()] = store.value;
            found.push((next, (true, OpId(u32::from(store.value)))));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many steps there are, and the lines that are stuck with what they would return.
    type Seen = (usize, Vec<(u64, Option<u64>)>);

    fn run(text: &str, model: &str) -> Option<Seen> {
        let trace = crate::trace::parse("t", text.as_bytes()).unwrap().remove(0);
        let found = longest(&trace, crate::model::builtin(model).unwrap(), None)?;
        assert!(found.longest);
        Some((found.steps.len(), found.stuck.iter().map(|&(op, value)| (trace.line(op), value)).collect()))
    }

    #[test]
    fn it_stops_where_the_machine_does() {
        let sb = "0: x := 1\n0: y == 0\n1: y := 1\n1: x == 0\ncheck\n";
        assert_eq!(run(sb, "sc"), Some((3, vec![(4, Some(1))])));
        assert_eq!(run(sb, "tso"), None, "it is allowed");
        let mp = "0: x := 1\n0: y := 1\n1: y == 1\n1: x == 0\ncheck\n";
        assert_eq!(run(mp, "tso"), Some((5, vec![(4, Some(1))])), "two stores, two commits, one load");
        assert_eq!(run(mp, "pso"), None, "it is allowed");
        assert_eq!(run(mp, "rmo"), None, "not such a machine");
    }
}
