//! The engine of the reference machines: cores with a window of instructions and a store buffer, on one memory.
//!
//! Problem: run a program on a machine that obeys a memory model by construction, and record what it observes and when.
//!
//! Algorithm: a scheduler picks cores at random, for short bursts of steps. In a step a core
//! 1. *fetches* its next instruction into its window, which is when the operation begins; or
//! 2. *performs* an instruction of its window: the oldest, or, where the machine is out of order, any that nothing older holds
//!    back. A store enters the store buffer; a load returns the youngest entry for its address there, else memory; an atomic, an
//!    acquire or a release acts on memory, once the buffer holds nothing that must come before it; or
//! 3. *drains* a store from its buffer to memory: the oldest (FIFO), or the oldest of some address. It does so in one step of
//!    [`Buffer::drain`], and whenever it can do nothing else.
//!
//! Instructions that are performed leave the window in program order, which is when they end.
//!
//! Out of order, an instruction is held back by an older one that is not yet performed, if both access one address, or both are
//! of locks (so that locks are taken in program order), or one is a barrier that orders the two. A barrier with
//! `#StoreLoad` waits for an empty buffer; one with `#StoreStore` starts a new epoch: stores leave the buffer only when
//! those of earlier epochs have, and atomics wait for these.
//!
//! Invariants: a window is a range of the thread's instructions; along a buffer epochs never decrease, and entries of one
//! address are in program order.
//!
//! Complexity: O(n b) with buffers of at most b stores and windows of constant size.
//!
//! Guarantees: a load takes its value, and an atomic or a lock operation its effect, between its begin and its end.
//!
//! Deviations from the models: machines are stronger in that windows hold at most eight instructions and buffers have a limit, a
//! barrier with `#StoreLoad` waits for all stores, and lock operations of a thread stay in order.

use super::Buffer;
use super::clock::{Clock, Cores};
use crate::program::Kind;
use crate::{Program, Record, Rng, Run, Times};
use membar_core::Mask;

/// Instructions that a window holds at most.
const WINDOW: u32 = 8;

/// Where stores wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Buffering {
    /// Nowhere.
    None,
    /// In one queue for each core.
    Fifo,
    /// In one queue for each core and address.
    PerAddress,
}

/// The properties that distinguish the reference machines.
#[derive(Clone, Copy)]
pub(super) struct Policy {
    pub buffering: Buffering,
    pub out_of_order: bool,
}

#[derive(Clone, Copy)]
struct Entry {
    addr: u32,
    epoch: u32,
    value: u64,
}

struct Core {
    /// The oldest instruction in the window.
    head: u32,
    /// The next instruction to fetch.
    tail: u32,
    /// One past the thread's last instruction.
    end: u32,
    /// Bit `k`: instruction `head + k` has been performed.
    done: u32,
    /// The store buffer, oldest first.
    buffer: Vec<Entry>,
    epoch: u32,
}

impl Core {
    fn forward(&self, addr: u32) -> Option<u64> {
        self.buffer.iter().rev().find(|entry| entry.addr == addr).map(|entry| entry.value)
    }

    fn push(&mut self, addr: u32, value: u64) {
        self.buffer.push(Entry { addr, epoch: self.epoch, value });
    }
}

struct Machine<'a> {
    program: &'a Program,
    policy: Policy,
    /// Stores that a buffer holds at most.
    depth: usize,
    /// One step in this many drains a store first.
    drain: u64,
    memory: Vec<u64>,
    /// Is it taken?
    locks: Vec<bool>,
    cores: Vec<Core>,
    record: Record,
    times: Times,
    clock: Clock,
}

/// Runs a program. Where threads wait for locks forever, the record holds what was executed.
pub(super) fn run(program: &Program, policy: Policy, buffer: Buffer, seed: u64) -> Run {
    let cores = (0..program.threads())
        .map(|t| Core {
            head: program.starts[t],
            tail: program.starts[t],
            end: program.starts[t + 1],
            done: 0,
            buffer: Vec::new(),
            epoch: 0,
        })
        .collect();
    let mut machine = Machine {
        program,
        policy,
        depth: buffer.depth as usize,
        drain: buffer.drain.into(),
        memory: program.initial.clone(),
        locks: vec![false; program.locks as usize],
        cores,
        record: Record::empty(program),
        times: Times::empty(program),
        clock: Clock::new(program.threads()),
    };
    machine.record.log.reserve(program.len());
    machine.run(&mut Rng::stream(seed, 0x51));
    machine.record.finals = machine.memory;
    Run { record: machine.record, times: machine.times }
}

impl Cores for Machine<'_> {
    const BURST: u32 = 6;

    #[inline(always)]
    fn clock(&mut self) -> &mut Clock {
        &mut self.clock
    }

    #[inline(always)]
    fn has_finished(&self, core: usize) -> bool {
        self.cores[core].head == self.cores[core].end
    }

    #[inline(always)]
    fn step(&mut self, core: usize, rng: &mut Rng) -> bool {
        self.advance(core, rng)
    }
}

impl Machine<'_> {
    fn run(&mut self, rng: &mut Rng) {
        self.run_all(rng);
        let cores = self.cores.iter().map(|core| (core.head..core.tail, core.done));
        self.clock.log_what_is_left(cores, &mut self.record, &mut self.times);
        let mut full: Vec<usize> = (0..self.cores.len()).filter(|&c| !self.cores[c].buffer.is_empty()).collect();
        while !full.is_empty() {
            let at = rng.below(full.len() as u32) as usize;
            self.drain(full[at], rng);
            if self.cores[full[at]].buffer.is_empty() {
                full.swap_remove(at);
            }
        }
    }

    /// Moves core `c` on; `false` if nothing can move before a lock is released or a pause is over.
    fn advance(&mut self, c: usize, rng: &mut Rng) -> bool {
        let roll = rng.next();
        let moved = roll.is_multiple_of(self.drain) && self.drain(c, rng);
        let core = &self.cores[c];
        let room = core.tail < core.end && core.tail - core.head < WINDOW && self.clock.runs(c);
        if room && (roll & 12 != 0 || core.head == core.tail) {
            self.fetch(c);
            return true;
        }
        let size = core.tail - core.head;
        if self.policy.out_of_order {
            let first = (((roll >> 32) * size as u64) >> 32) as u32;
            if (0..size).any(|k| self.try_perform(c, (first + k) % size)) {
                return true;
            }
        } else if size > 0 && self.try_perform(c, 0) {
            return true;
        }
        if moved || self.drain(c, rng) {
            return true;
        }
        if room {
            self.fetch(c);
        }
        room
    }

    fn fetch(&mut self, c: usize) {
        let core = &mut self.cores[c];
        let i = core.tail as usize;
        self.times.begin[i] = self.clock.now();
        core.tail += 1;
        if self.program.kind[i] == Kind::Delay {
            self.clock.pause(c, self.program.value[i]);
            core.done |= 1 << (core.tail - core.head - 1);
            self.retire(c);
        }
    }

    /// Lets performed instructions leave the window, in order.
    fn retire(&mut self, c: usize) {
        let core = &mut self.cores[c];
        while core.done & 1 != 0 {
            self.times.end[core.head as usize] = self.clock.now();
            self.record.log.push(core.head);
            core.head += 1;
            core.done >>= 1;
        }
    }

    fn commit(&mut self, addr: u32, value: u64) {
        self.memory[addr as usize] = value;
        self.record.commits.push((addr, value));
    }

    /// Moves one store of the core's buffer to memory, if it holds any.
    fn drain(&mut self, c: usize, rng: &mut Rng) -> bool {
        let core = &mut self.cores[c];
        let Some(oldest) = core.buffer.first() else { return false };
        let mut at = 0;
        if self.policy.buffering == Buffering::PerAddress {
            let eligible = core.buffer.iter().take_while(|entry| entry.epoch == oldest.epoch).count();
            let addr = core.buffer[rng.below(eligible as u32) as usize].addr;
            at = core.buffer.iter().position(|entry| entry.addr == addr).unwrap_or(0);
        }
        let entry = core.buffer.remove(at);
        self.commit(entry.addr, entry.value);
        true
    }

    /// Performs instruction `k` of the window, if it may.
    fn try_perform(&mut self, c: usize, k: u32) -> bool {
        let core = &self.cores[c];
        let i = core.head + k;
        if core.done >> k & 1 != 0 || k > 0 && self.held_back(core, i) || !self.ready(core, i as usize) {
            return false;
        }
        self.perform(c, i as usize);
        self.cores[c].done |= 1 << k;
        self.retire(c);
        true
    }

    /// Is there an older instruction, not yet performed, that must come first?
    fn held_back(&self, core: &Core, i: u32) -> bool {
        (core.head..i)
            .any(|older| core.done >> (older - core.head) & 1 == 0 && self.ordered(older as usize, i as usize))
    }

    /// Out of order: must the first be performed before the second?
    fn ordered(&self, first: usize, second: usize) -> bool {
        let p = self.program;
        let (a, b) = (p.kind[first], p.kind[second]);
        match (a, b) {
            (Kind::Delay, _) | (_, Kind::Delay) => false,
            (Kind::Fence, Kind::Fence) => true,
            (Kind::Fence, _) => {
                let mask = p.orders(first);
                b != Kind::Store && mask.intersects(Mask::LOAD_LOAD | Mask::STORE_LOAD)
                    || b != Kind::Load && mask.intersects(Mask::LOAD_STORE | Mask::STORE_STORE)
            }
            (_, Kind::Fence) => {
                let mask = p.orders(second);
                a != Kind::Store && mask.intersects(Mask::LOAD_LOAD | Mask::LOAD_STORE)
                    || a != Kind::Load && mask.intersects(Mask::STORE_LOAD | Mask::STORE_STORE)
            }
            _ => a.lock() == b.lock() && (a.lock() || p.addr[first] == p.addr[second]),
        }
    }

    /// Does the buffer, and the lock, allow it now?
    fn ready(&self, core: &Core, i: usize) -> bool {
        let p = self.program;
        let acts_on_memory = |addr: Option<u32>| match self.policy.buffering {
            Buffering::None | Buffering::Fifo => core.buffer.is_empty(),
            Buffering::PerAddress => {
                core.buffer.iter().all(|entry| Some(entry.addr) != addr && entry.epoch == core.epoch)
            }
        };
        match p.kind[i] {
            Kind::Load | Kind::Delay => true,
            Kind::Store => core.buffer.len() < self.depth,
            Kind::Exchange | Kind::Add | Kind::Cas => acts_on_memory(Some(p.addr[i])),
            Kind::Fence => core.buffer.is_empty() || !p.orders(i).contains(Mask::STORE_LOAD),
            Kind::Acquire => !self.locks[p.addr[i] as usize] && acts_on_memory(None),
            Kind::Release => acts_on_memory(None),
        }
    }

    /// Performs an instruction that is ready.
    fn perform(&mut self, c: usize, i: usize) {
        let p = self.program;
        let (kind, addr) = (p.kind[i], p.addr[i]);
        match kind {
            Kind::Load => {
                let value = self.cores[c].forward(addr).unwrap_or(self.memory[addr as usize]);
                self.record.reads[i] = value;
            }
            Kind::Store if self.policy.buffering != Buffering::None => self.cores[c].push(addr, p.value[i]),
            Kind::Store | Kind::Exchange | Kind::Add | Kind::Cas => {
                if let Some(value) = self.record.execute(p, i, self.memory[addr as usize]) {
                    self.commit(addr, value);
                }
            }
            Kind::Fence => self.cores[c].epoch += u32::from(p.orders(i).contains(Mask::STORE_STORE)),
            Kind::Acquire => self.locks[addr as usize] = true,
            Kind::Release => {
                self.locks[addr as usize] = false;
                self.clock.release();
            }
            Kind::Delay => {}
        }
    }
}
