//! All final states of a program on a machine with store buffers.
//!
//! **Problem.** Programs with loops have executions without end, but often finitely many states: then every final state can
//! be found.
//!
//! **Algorithm.** Breadth-first over the machine's states, none twice, so that what shows after few steps is found even
//! where a loop fills a buffer without end. A step is an access of a thread, or a buffered store
//! that reaches memory.
//! sc has no buffers; those of tso and pso are [`StoreBuffer`].
//!
//! **Invariants.** A state is settled: each thread is at an access, has ended, or can do nothing more. Epochs are numbered
//! from the oldest that is in the buffer, so that equal futures have equal numbers.
//!
//! **Complexity.** As many steps as there are states times threads. **Guarantees.** If no limit is met, the final states are
//! all; a loop that only waits comes back to a state that was seen.

use crate::code::{Request, Settled};
use crate::states::{Collector, Limits, Method, Model, Outcomes, checked};
use crate::test::LitmusTest;
use membar_core::{AccessKind, Barrier, Relaxation, StoreBuffer};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::rc::Rc;

#[derive(Clone, PartialEq, Eq, Debug)]
struct Thread {
    pc: u32,
    barrier: Barrier,
    /// Runs a loop without accesses, forever.
    stuck: bool,
    buffer: StoreBuffer<u32, u64>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct State {
    threads: Vec<Thread>,
    regs: Vec<u64>,
    memory: Vec<u64>,
}

struct Machine<'a> {
    test: &'a LitmusTest,
    model: Model,
    /// How buffers give their stores to memory; with sc they are empty.
    relaxation: Relaxation,
    regs_at: Vec<usize>,
    found: Collector<'a>,
    seen: FxHashSet<Rc<[u8]>>,
    todo: VecDeque<Rc<[u8]>>,
    bytes: Vec<u8>,
    /// About how much is remembered.
    memory: usize,
    /// Whether a thread was given up that could have continued.
    lost: bool,
    /// How each state was reached, where that is wanted.
    trail: Option<Trail>,
}

/// How states were reached: those that are remembered, in the order in which they are taken up.
struct Trail {
    /// The state before, and the step from there.
    steps: Vec<(u32, Option<Transition>)>,
    /// The state that is examined.
    now: u32,
    /// The final state that is wanted, and whether it was met.
    wanted: Vec<u64>,
    met: bool,
}

/// A step of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transition {
    /// The thread.
    pub thread: u32,
    /// The buffered store reaches memory; otherwise the thread makes its access.
    pub commit: bool,
    /// The cell it accesses: an index into the cells of the code.
    pub cell: u32,
    /// The instruction: an index into the sites of the code. A commit has none.
    pub site: Option<u32>,
    /// The kind of access.
    pub kind: AccessKind,
    /// The value read, if it reads.
    pub read: Option<u64>,
    /// The value written, if it writes.
    pub write: Option<u64>,
}

/// The memory that a remembered state costs besides its bytes.
const OVERHEAD: usize = 48;

/// All outcomes, as far as the limits let us see them.
pub(crate) fn outcomes(test: &LitmusTest, model: Model, limits: &Limits) -> Outcomes {
    let (machine, complete) = search(test, model, limits, None);
    machine.found.finish(complete, Method::Machine)
}

/// A shortest way of the machine to a final state, as [`Outcomes::states`] has it; none if it is not found within the limits.
pub fn way(test: &LitmusTest, model: Model, wanted: &[u64], limits: &Limits) -> Option<Vec<Transition>> {
    let trail = Trail { steps: Vec::new(), now: 0, wanted: wanted.to_vec(), met: false };
    let (machine, _) = search(test, model, limits, Some(trail));
    let trail = machine.trail.filter(|trail| trail.met)?;
    let mut way = Vec::new();
    let mut at = trail.now as usize;
    while let (before, Some(step)) = trail.steps[at] {
        way.push(step);
        at = before as usize;
    }
    way.reverse();
    Some(way)
}

fn search<'a>(test: &'a LitmusTest, model: Model, limits: &Limits, trail: Option<Trail>) -> (Machine<'a>, bool) {
    let mut regs_at = vec![0];
    let memory = test.code.cells.iter().map(|cell| cell.init).collect();
    let mut start = State { threads: Vec::new(), regs: Vec::new(), memory };
    for thread in &test.code.threads {
        start.regs.extend(&thread.regs);
        regs_at.push(start.regs.len());
        start.threads.push(Thread { pc: 0, barrier: Barrier::None, stuck: false, buffer: StoreBuffer::default() });
    }
    let mut machine = Machine {
        test,
        model,
        relaxation: if model == Model::Pso { Relaxation::Pso } else { Relaxation::Tso },
        regs_at,
        found: Collector::new(test),
        seen: FxHashSet::default(),
        todo: VecDeque::new(),
        bytes: Vec::new(),
        memory: 0,
        lost: false,
        trail,
    };
    let mut complete = true;
    if (0..start.threads.len()).all(|thread| machine.settle(&mut start, thread)) {
        machine.remember(&start, None);
    }
    let mut steps = 0u64;
    while let Some(bytes) = machine.todo.pop_front() {
        steps += 1;
        let full = machine.seen.len() > limits.states || machine.memory > limits.memory;
        if full || (steps & 255 == 0 && limits.over()) {
            complete = false;
            break;
        }
        if let Some(trail) = &mut machine.trail {
            trail.now = (steps - 1) as u32;
        }
        machine.decode(&bytes, &mut start);
        machine.step(&mut start);
        if machine.trail.as_ref().is_some_and(|trail| trail.met) {
            break;
        }
    }
    let complete = complete && !machine.lost;
    (machine, complete)
}

impl Machine<'_> {
    /// Runs a thread up to its next access. Whether the program continues.
    fn settle(&mut self, state: &mut State, thread: usize) -> bool {
        let regs = &mut state.regs[self.regs_at[thread]..self.regs_at[thread + 1]];
        let now = &mut state.threads[thread];
        let settled = self.test.code.settle(thread, &mut now.pc, regs, |_, _| {});
        now.stuck = matches!(settled, Settled::Endless | Settled::Long);
        self.lost |= settled == Settled::Long;
        match checked(settled) {
            Ok(request) => {
                now.barrier = request.map_or(Barrier::None, |request| request.access.barrier);
                if request.is_none() && !now.stuck {
                    now.pc = self.test.code.threads[thread].instrs.len() as u32;
                }
                true
            }
            Err(crash) => {
                self.found.crash(crash);
                false
            }
        }
    }

    /// The next action of a settled thread.
    fn request(&self, state: &mut State, thread: usize) -> Option<Request> {
        let now = &mut state.threads[thread];
        if now.stuck {
            return None;
        }
        let regs = &mut state.regs[self.regs_at[thread]..self.regs_at[thread + 1]];
        match self.test.code.settle(thread, &mut now.pc, regs, |_, _| {}) {
            Settled::Request(mut request) => {
                request.access.barrier = now.barrier;
                Some(request)
            }
            _ => None,
        }
    }

    /// Every state that comes next.
    fn step(&mut self, now: &mut State) {
        let mut over = true;
        for thread in 0..now.threads.len() {
            for place in now.threads[thread].buffer.ready(self.relaxation) {
                over = false;
                let mut next = now.clone();
                let entry = next.threads[thread].buffer.commit(place);
                next.memory[entry.addr as usize] = entry.value;
                let (thread, cell, write) = (thread as u32, entry.addr, Some(entry.value));
                let kind = AccessKind::Store;
                self.remember(
                    &next,
                    Some(Transition { thread, commit: true, cell, site: None, kind, read: None, write }),
                );
            }
            over &= !now.threads[thread].stuck;
            if let Some(request) = self.request(now, thread) {
                over = false;
                self.access(now, thread, &request);
            }
        }
        if over {
            let register = |thread: u32, reg: u16| now.regs[self.regs_at[thread as usize] + usize::from(reg)];
            let ended = self.found.end(register, |cell| now.memory[cell as usize]);
            if let (Some(trail), true) = (&mut self.trail, ended) {
                trail.met = self.found.last() == trail.wanted;
            }
        }
    }

    /// The thread makes its access, if it need not wait.
    fn access(&mut self, now: &State, thread: usize, request: &Request) {
        let addr = request.access.addr;
        let barrier = request.access.barrier;
        let interlocked = (request.access.kind == AccessKind::Rmw).then_some(addr);
        if now.threads[thread].buffer.holds_back(self.relaxation, barrier, interlocked) {
            return;
        }
        let mut next = now.clone();
        let own = &mut next.threads[thread];
        if barrier >= Barrier::Store {
            own.buffer.store_barrier();
        }
        let mut write = None;
        let mut old = next.memory[addr as usize];
        match request.access.kind {
            AccessKind::Load => {
                old = own.buffer.newest(addr).copied().unwrap_or(old);
            }
            AccessKind::Store if self.model != Model::Sc => {
                own.buffer.push(addr, request.value);
                write = Some(request.value);
            }
            AccessKind::Store | AccessKind::Rmw => {
                write = request.written(old);
                if let Some(value) = write {
                    next.memory[addr as usize] = value;
                }
            }
        }
        let regs = &mut next.regs[self.regs_at[thread]..self.regs_at[thread + 1]];
        self.test.code.complete(thread, &mut next.threads[thread].pc, regs, old);
        if self.settle(&mut next, thread) {
            let kind = request.access.kind;
            let step = Transition {
                thread: thread as u32,
                commit: false,
                cell: addr,
                site: Some(request.access.site),
                kind,
                read: (kind != AccessKind::Store).then_some(old),
                write,
            };
            self.remember(&next, Some(step));
        }
    }

    fn remember(&mut self, state: &State, step: Option<Transition>) {
        self.bytes.clear();
        let bytes = &mut self.bytes;
        for thread in &state.threads {
            // Only pso looks at epochs, and only while there is something in the buffer.
            let base = match self.model {
                Model::Pso => thread.buffer.entries().first().map_or(thread.buffer.epoch(), |entry| entry.epoch),
                _ => 0,
            };
            let epoch = |epoch: u32| if self.model == Model::Pso { u64::from(epoch - base) } else { 0 };
            put(bytes, u64::from(thread.pc));
            put(bytes, thread.barrier as u64 | u64::from(thread.stuck) << 2);
            put(bytes, epoch(thread.buffer.epoch()));
            put(bytes, thread.buffer.entries().len() as u64);
            for entry in thread.buffer.entries() {
                put(bytes, u64::from(entry.addr));
                put(bytes, epoch(entry.epoch));
                put(bytes, entry.value);
            }
        }
        state.regs.iter().chain(&state.memory).for_each(|&value| put(bytes, value));
        if !self.seen.contains(&bytes[..]) {
            let kept: Rc<[u8]> = bytes[..].into();
            self.memory += kept.len() + OVERHEAD;
            if let Some(trail) = &mut self.trail {
                trail.steps.push((trail.now, step));
            }
            self.todo.push_back(Rc::clone(&kept));
            self.seen.insert(kept);
        }
    }

    fn decode(&self, mut bytes: &[u8], state: &mut State) {
        for thread in &mut state.threads {
            thread.pc = take(&mut bytes) as u32;
            let flags = take(&mut bytes);
            thread.barrier = [Barrier::None, Barrier::Store, Barrier::Full][flags as usize & 3];
            thread.stuck = flags >> 2 == 1;
            let epoch = take(&mut bytes) as u32;
            let len = take(&mut bytes);
            thread.buffer.clear();
            for _ in 0..len {
                let (addr, epoch) = (take(&mut bytes) as u32, take(&mut bytes) as u32);
                thread.buffer.push_in(addr, take(&mut bytes), epoch);
            }
            thread.buffer.begin(epoch);
        }
        state.regs.iter_mut().chain(&mut state.memory).for_each(|value| *value = take(&mut bytes));
    }
}

/// Appends a number, seven bits a byte.
fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}
