//! Simulated machines: sequentially consistent, or with store buffers.
//!
//! Problem: run a program on a machine that obeys a memory model by construction, and record what it observes.
//!
//! Algorithm: a scheduler picks threads at random, in short bursts. Each step either executes the thread's next
//! instruction or moves one store of some buffer to memory.
//! 1. A store enters its thread's buffer; a full buffer drains first.
//! 2. A load returns the youngest entry for its address in its own buffer, else memory.
//! 3. A store leaves the buffer in issue order (TSO), or in issue order per address (PSO).
//! 4. A read-modify-write, acquire or release acts on memory, once the buffer is empty (TSO) or holds nothing for its
//!    address (PSO).
//! 5. A barrier whose mask holds `#StoreLoad` waits for an empty buffer. Under PSO one with `#StoreStore` alone starts
//!    a new epoch: stores, and read-modify-writes, wait until the buffer holds nothing of an earlier epoch.
//!
//! Invariant: a thread's buffer is in issue order, so epochs never decrease along it.
//!
//! Complexity: O(n) with a buffer of constant size; about 10 million operations a second, the final resolving included.

use crate::{Instr, Program, Rng, Workload};
use membar_core::{AddrId, AddrName, Final, Init, Mask, OpKind, OrderLine, ResolveScratch, Trace};

/// Stores that a buffer holds at most.
const BUFFER: usize = 8;

/// A machine, named after the model that it obeys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// Every access acts on memory at once.
    Sc,
    /// One first-in first-out store buffer per thread.
    Tso,
    /// One first-in first-out store buffer per thread and address.
    Pso,
}

/// What is recorded besides the operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Observe {
    /// `order` lines: the order in which the writes of each address reached memory.
    pub write_order: bool,
    /// `final` lines: what memory holds in the end.
    pub finals: bool,
}

/// Runs the workload's program on a machine; the trace is resolved, its operations are in issue order.
pub fn simulate(workload: &Workload, machine: Machine, observe: Observe) -> Trace {
    run(&workload.program(), machine, observe, &mut Rng::stream(workload.seed, u64::MAX))
}

#[derive(Clone, Copy, Default)]
struct Entry {
    addr: u32,
    epoch: u32,
    value: u64,
}

/// A thread's store buffer, oldest entry first.
#[derive(Clone, Copy, Default)]
struct Buffer {
    entries: [Entry; BUFFER],
    len: usize,
    epoch: u32,
}

impl Buffer {
    fn live(&self) -> &[Entry] {
        &self.entries[..self.len]
    }

    fn forward(&self, addr: u32) -> Option<u64> {
        self.live().iter().rev().find(|e| e.addr == addr).map(|e| e.value)
    }

    fn push(&mut self, addr: u32, value: u64) {
        self.entries[self.len] = Entry { addr, epoch: self.epoch, value };
        self.len += 1;
    }

    fn remove(&mut self, i: usize) -> Entry {
        let entry = self.entries[i];
        self.entries.copy_within(i + 1..self.len, i);
        self.len -= 1;
        entry
    }
}

struct Sim<'a> {
    program: &'a Program,
    machine: Machine,
    memory: Vec<u64>,
    buffers: Vec<Buffer>,
    /// Holder of each lock.
    holders: Vec<Option<usize>>,
    /// Values in the order in which they reached memory, per address; empty where not observed.
    commits: Vec<Vec<u64>>,
    next: Vec<u32>,
    trace: Trace,
}

/// Runs a program; the trace is resolved. Where threads deadlock on locks, the trace holds what was executed.
pub fn run(program: &Program, machine: Machine, observe: Observe, rng: &mut Rng) -> Trace {
    let mut trace = Trace::new();
    trace.clear(1);
    let threads = program.threads();
    let mut sim = Sim {
        program,
        machine,
        memory: program.initial.clone(),
        buffers: vec![Buffer::default(); threads],
        holders: vec![None; program.locks as usize],
        commits: if observe.write_order { vec![Vec::new(); program.initial.len()] } else { Vec::new() },
        next: program.starts[..threads].to_vec(),
        trace,
    };
    sim.run(rng);
    sim.record_ends(observe);
    let resolved = sim.trace.resolve(&mut ResolveScratch::default());
    debug_assert!(resolved.is_ok(), "a program's invariant is broken: {resolved:?}");
    sim.trace
}

impl Sim<'_> {
    fn run(&mut self, rng: &mut Rng) {
        let threads = self.program.threads();
        let mut live: Vec<usize> = (0..threads).filter(|&t| self.next[t] < self.program.starts[t + 1]).collect();
        // Steps since an instruction was executed: a deadlock shows as many steps without one.
        let mut idle = 0;
        while !live.is_empty() && idle < 64 * threads {
            let at = rng.below(live.len() as u32) as usize;
            let t = live[at];
            for _ in 0..1 + rng.below(6) {
                if rng.chance(1, 4) {
                    let other = rng.below(threads as u32) as usize;
                    self.drain_one(other, rng);
                }
                let instr = self.program.instrs[self.next[t] as usize];
                if self.ready(t, instr) {
                    self.step(t, instr);
                    idle = 0;
                    self.next[t] += 1;
                    if self.next[t] == self.program.starts[t + 1] {
                        live.swap_remove(at);
                        break;
                    }
                } else {
                    idle += 1;
                    self.drain_one(t, rng);
                }
            }
        }
        let mut full: Vec<usize> = (0..threads).filter(|&t| self.buffers[t].len > 0).collect();
        while !full.is_empty() {
            let at = rng.below(full.len() as u32) as usize;
            self.drain_one(full[at], rng);
            if self.buffers[full[at]].len == 0 {
                full.swap_remove(at);
            }
        }
    }

    fn commit(&mut self, addr: u32, value: u64) {
        self.memory[addr as usize] = value;
        if let Some(commits) = self.commits.get_mut(addr as usize) {
            commits.push(value);
        }
    }

    /// Moves one store of the thread's buffer to memory, if it holds any.
    fn drain_one(&mut self, t: usize, rng: &mut Rng) {
        let buffer = &mut self.buffers[t];
        if buffer.len == 0 {
            return;
        }
        let mut at = 0;
        if self.machine == Machine::Pso {
            let eligible = buffer.live().iter().take_while(|e| e.epoch == buffer.entries[0].epoch).count();
            let addr = buffer.entries[rng.below(eligible as u32) as usize].addr;
            at = buffer.live().iter().position(|e| e.addr == addr).unwrap_or(0);
        }
        let entry = buffer.remove(at);
        self.commit(entry.addr, entry.value);
    }

    /// May the thread execute this instruction now?
    fn ready(&self, t: usize, instr: Instr) -> bool {
        let buffer = &self.buffers[t];
        let acts_on_memory = |addr: Option<u32>| match self.machine {
            Machine::Sc | Machine::Tso => buffer.len == 0,
            Machine::Pso => buffer.live().iter().all(|e| Some(e.addr) != addr && e.epoch == buffer.epoch),
        };
        match instr.kind {
            OpKind::Load => true,
            OpKind::Store => buffer.len < BUFFER,
            OpKind::Rmw => acts_on_memory(Some(instr.addr)),
            OpKind::Fence => buffer.len == 0 || !instr.mask.unwrap_or(Mask::FULL).contains(Mask::STORE_LOAD),
            OpKind::Acquire => self.holders[instr.addr as usize].is_none() && acts_on_memory(None),
            OpKind::Release => acts_on_memory(None),
        }
    }

    /// Executes an instruction that is ready.
    fn step(&mut self, t: usize, Instr { kind, addr, value, mask }: Instr) {
        let line = self.trace.len() as u64 + 1;
        // Ids are given here, so that they are in the order of first appearance, as if read from text.
        let thread = self.trace.thread_id(t as u32);
        match kind {
            OpKind::Load => {
                let seen = self.buffers[t].forward(addr).unwrap_or(self.memory[addr as usize]);
                let id = self.trace.memory_id(addr as u64);
                self.trace.push_load(thread, id, seen, line);
            }
            OpKind::Store => {
                let id = self.trace.memory_id(addr as u64);
                self.trace.push_store(thread, id, value, line);
                if self.machine == Machine::Sc {
                    self.commit(addr, value);
                } else {
                    self.buffers[t].push(addr, value);
                }
            }
            OpKind::Rmw => {
                let id = self.trace.memory_id(addr as u64);
                self.trace.push_rmw(thread, id, self.memory[addr as usize], value, line);
                self.commit(addr, value);
            }
            OpKind::Fence => {
                let orders = mask.unwrap_or(Mask::FULL);
                self.buffers[t].epoch += u32::from(orders.contains(Mask::STORE_STORE));
                self.trace.push_fence(thread, mask, line);
            }
            OpKind::Acquire => {
                self.holders[addr as usize] = Some(t);
                let lock = self.trace.lock_id(&format!("L{addr}"));
                self.trace.push_acquire(thread, lock, line);
            }
            OpKind::Release => {
                self.holders[addr as usize] = None;
                let lock = self.trace.lock_id(&format!("L{addr}"));
                self.trace.push_release(thread, lock, line);
            }
        }
    }

    fn record_ends(&mut self, observe: Observe) {
        let mut line = self.trace.len() as u64;
        for (addr, name) in self.trace.addr_names().to_vec().into_iter().enumerate() {
            let addr = AddrId(addr as u32);
            let AddrName::Memory(n) = name else { continue };
            let n = n as usize;
            if self.program.initial[n] != 0 {
                line += 1;
                self.trace.inits.push(Init { addr, value: self.program.initial[n], line });
            }
            if observe.finals {
                line += 1;
                self.trace.finals.push(Final { addr, value: self.memory[n], line });
            }
            if observe.write_order && !self.commits[n].is_empty() {
                line += 1;
                self.trace.orders.push(OrderLine { addr, values: std::mem::take(&mut self.commits[n]), line });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mix;
    use membar_core::Source;

    const WORK: Workload = Workload { threads: 4, addresses: 3, ops: 4000, mix: Mix::PAPER, seed: 5 };

    #[test]
    fn same_seed_same_trace() {
        let all = Observe { write_order: true, finals: true };
        for machine in [Machine::Sc, Machine::Tso, Machine::Pso] {
            let (a, b) = (simulate(&WORK, machine, all), simulate(&WORK, machine, all));
            assert_eq!(a.len(), 4000);
            assert!(a.ops().all(|op| a.op(op) == b.op(op) && a.source(op) != Source::UNWRITTEN));
            assert_eq!((a.orders, a.finals), (b.orders, b.finals));
        }
    }

    #[test]
    fn all_kinds_and_unique_values() {
        let trace = simulate(&WORK, Machine::Tso, Observe::default());
        let count = |kind| trace.ops().filter(|&op| trace.kind(op) == kind).count();
        assert!(count(OpKind::Load) > 1200 && count(OpKind::Rmw) > 1000 && count(OpKind::Fence) > 30);
        let mut values: Vec<u64> = trace.ops().map(|op| trace.write(op)).filter(|&v| v > 0).collect();
        values.sort_unstable();
        assert!(values.iter().zip(1..).all(|(&v, i)| v == i));
    }

    #[test]
    fn buffers_show() {
        // Store then load of the other address, both loads returning 0: only with buffers.
        let store = |addr, value| Instr { kind: OpKind::Store, addr, value, mask: None };
        let load = |addr| Instr { kind: OpKind::Load, addr, value: 0, mask: None };
        let program = Program {
            instrs: vec![store(0, 1), load(1), store(1, 2), load(0)],
            starts: vec![0, 2, 4],
            initial: vec![0; 2],
            locks: 0,
        };
        for (machine, expected) in [(Machine::Sc, false), (Machine::Tso, true), (Machine::Pso, true)] {
            let seen = (0..500).any(|seed| {
                let trace = run(&program, machine, Observe::default(), &mut Rng::new(seed));
                trace.ops().filter(|&op| trace.kind(op) == OpKind::Load).all(|op| trace.read(op) == 0)
            });
            assert_eq!(seen, expected, "{machine:?}");
        }
    }
}
