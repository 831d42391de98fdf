//! Exhaustive abstract machines.
//!
//! Problem: can a machine with store buffers produce the recorded values?
//!
//! Algorithm: depth-first search over the machine's states, each visited once. A step is
//! 1. a thread's next operation: a store enters the thread's buffer (SC: memory); a load returns the youngest entry for
//!    its address in its own buffer, else memory, and must return the recorded value; a read-modify-write, acquire or
//!    release acts on memory once the buffer is empty (TSO) or holds nothing for its address (PSO);
//! 2. or the move of a buffered store to memory: the oldest of its thread (TSO), the oldest of its thread and address
//!    (PSO).
//!
//! `sync` waits for an empty buffer. `membar` does not wait, it marks what is buffered: `#StoreLoad`, that later loads
//! and whatever counts as one wait for it; `#StoreStore`, that later stores and whatever counts as one reach memory
//! after it. (To wait at the barrier would be too strong under PSO: a store after `#StoreLoad` may still overtake the
//! stores before it, and a load after `#StoreStore` too.) The other two pairs are kept by these machines anyway.
//!
//! In the end all buffers are empty and memory holds the recorded final values; writes reach memory in the order of the
//! `order` lines.
//!
//! Invariant: a buffer is in program order.
//!
//! Complexity: exponential; a few thousand states for a dozen operations.
//!
//! WMO has no such buffers and is in its own file. It alone knows timestamps, and compares those of one thread only:
//! for all but WMO, a thread's own clock says nothing that these machines do not do anyway. None of them knows a clock
//! that all threads share.

use crate::wmo;
use membar_core::{Mask, OpId, OpKind, Trace};
use std::collections::HashSet;

/// An abstract machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// Memory and nothing else.
    Sc,
    /// A first-in first-out store buffer per thread.
    Tso,
    /// A first-in first-out store buffer per thread and address.
    Pso,
    /// Operations of a thread perform out of order where their addresses and times permit.
    Wmo,
}

/// Can the machine produce the trace? The trace is resolved.
pub fn decide(trace: &Trace, machine: Machine) -> bool {
    assert!(trace.len() <= 64, "the oracle takes at most 64 operations");
    if trace.has_unwritten() {
        return false;
    }
    if machine == Machine::Wmo {
        return wmo::decide(trace);
    }
    let state = State {
        next: vec![0; trace.threads()],
        buffers: vec![Vec::new(); trace.threads()],
        memory: Memory::new(trace),
    };
    Search { trace, machine, seen: HashSet::new() }.run(state)
}

/// The contents of memory, and the holder of each lock.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    values: Vec<u64>,
    holders: Vec<Option<u32>>,
    /// How many values of each `order` line have been written.
    written: Vec<usize>,
}

impl Memory {
    pub(crate) fn new(trace: &Trace) -> Memory {
        Memory {
            values: trace.addr_names().iter().zip(0..).map(|(_, a)| trace.initial(membar_core::AddrId(a))).collect(),
            holders: vec![None; trace.addrs()],
            written: vec![0; trace.orders.len()],
        }
    }

    pub(crate) fn read(&self, trace: &Trace, op: OpId) -> u64 {
        self.values[trace.addr(op).index()]
    }

    /// Performs the write of a store or read-modify-write, unless an `order` line has another one next.
    pub(crate) fn write(&mut self, trace: &Trace, op: OpId) -> bool {
        for (line, written) in trace.orders.iter().zip(&mut self.written).filter(|(l, _)| l.addr == trace.addr(op)) {
            if line.values.get(*written) != Some(&trace.write(op)) {
                return false;
            }
            *written += 1;
        }
        self.values[trace.addr(op).index()] = trace.write(op);
        true
    }

    /// Performs a read-modify-write, acquire or release, if its value or the lock's holder permits.
    pub(crate) fn act(&mut self, trace: &Trace, op: OpId) -> bool {
        let thread = trace.thread(op).0;
        if trace.kind(op) == OpKind::Rmw {
            return self.read(trace, op) == trace.read(op) && self.write(trace, op);
        }
        let holder = &mut self.holders[trace.addr(op).index()];
        let (expected, new) =
            if trace.kind(op) == OpKind::Acquire { (None, Some(thread)) } else { (Some(thread), None) };
        std::mem::replace(holder, new) == expected
    }

    pub(crate) fn ends_well(&self, trace: &Trace) -> bool {
        trace.finals.iter().all(|end| self.values[end.addr.index()] == end.value)
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Entry {
    op: OpId,
    /// Later loads wait for it.
    stops_loads: bool,
    /// Later stores, entered after this mark was set, wait for it.
    epoch: u32,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// Per thread the number of executed operations.
    next: Vec<usize>,
    /// Oldest entry first.
    buffers: Vec<Vec<Entry>>,
    memory: Memory,
}

struct Search<'a> {
    trace: &'a Trace,
    machine: Machine,
    seen: HashSet<State>,
}

impl Search<'_> {
    fn run(&mut self, state: State) -> bool {
        if !self.seen.insert(state.clone()) {
            return false;
        }
        let threads = self.trace.threads();
        let done = (0..threads).all(|t| state.buffers[t].is_empty() && self.next_op(&state, t).is_none());
        if done {
            return state.memory.ends_well(self.trace);
        }
        (0..threads).any(|t| {
            let drained = (0..state.buffers[t].len()).any(|at| self.drain(&state, t, at).is_some_and(|s| self.run(s)));
            drained || self.execute(&state, t).is_some_and(|s| self.run(s))
        })
    }

    fn next_op(&self, state: &State, t: usize) -> Option<OpId> {
        self.trace.thread_ops(membar_core::ThreadId(t as u32)).get(state.next[t]).copied()
    }

    /// The number of `#StoreStore` barriers that the thread has passed.
    fn epoch(&self, state: &State, t: usize) -> u32 {
        let passed = &self.trace.thread_ops(membar_core::ThreadId(t as u32))[..state.next[t]];
        let orders_stores = |op: &&OpId| self.trace.mask(**op).is_some_and(|mask| mask.contains(Mask::STORE_STORE));
        passed.iter().filter(orders_stores).count() as u32
    }

    /// Moves entry `at` of a buffer to memory.
    fn drain(&self, state: &State, t: usize, at: usize) -> Option<State> {
        let trace = self.trace;
        let entry = &state.buffers[t][at];
        let waits_for = |older: &Entry| match self.machine {
            Machine::Pso => trace.addr(older.op) == trace.addr(entry.op) || older.epoch < entry.epoch,
            _ => true,
        };
        if state.buffers[t][..at].iter().any(waits_for) {
            return None;
        }
        let mut new = state.clone();
        let entry = new.buffers[t].remove(at);
        new.memory.write(trace, entry.op).then_some(new)
    }

    /// Executes the thread's next operation.
    fn execute(&self, state: &State, t: usize) -> Option<State> {
        let trace = self.trace;
        let op = self.next_op(state, t)?;
        let buffer = &state.buffers[t];
        let mut new = state.clone();
        new.next[t] += 1;
        let possible = match trace.kind(op) {
            OpKind::Load => {
                let own = buffer.iter().rev().find(|entry| trace.addr(entry.op) == trace.addr(op));
                let value = own.map_or(state.memory.read(trace, op), |entry| trace.write(entry.op));
                value == trace.read(op) && !buffer.iter().any(|entry| entry.stops_loads)
            }
            OpKind::Store if self.machine == Machine::Sc => new.memory.write(trace, op),
            OpKind::Store => {
                new.buffers[t].push(Entry { op, stops_loads: false, epoch: self.epoch(state, t) });
                true
            }
            OpKind::Rmw | OpKind::Acquire | OpKind::Release => {
                let epoch = self.epoch(state, t);
                let waits_for = |entry: &Entry| match self.machine {
                    Machine::Pso => trace.addr(entry.op) == trace.addr(op) || entry.stops_loads || entry.epoch < epoch,
                    _ => true,
                };
                !buffer.iter().any(waits_for) && new.memory.act(trace, op)
            }
            OpKind::Fence => match trace.mask(op) {
                None => buffer.is_empty(),
                Some(mask) => {
                    for entry in new.buffers[t].iter_mut().filter(|_| mask.contains(Mask::STORE_LOAD)) {
                        entry.stops_loads = true;
                    }
                    true
                }
            },
        };
        possible.then_some(new)
    }
}
