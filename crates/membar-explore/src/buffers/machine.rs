//! A program on a machine whose store buffers hold bytes: its steps, and how to take them back.
//!
//! # Rules
//!
//! * A load takes each byte from the newest store in its thread's buffer that has it, else from memory.
//! * tso: stores leave in order. An interlocked operation and a full barrier wait until the buffer is empty.
//! * pso: a store leaves after older ones that it has a byte in common with, and after all stores of earlier epochs; a store
//!   barrier begins an epoch. An interlocked operation waits for the stores that it has a byte in common with and for those of earlier
//!   epochs, a full barrier for all.
//!
//! # Invariants
//!
//! `events` are in the order in which accesses are made. `time` of an event is when it reads memory or, if it writes, when it writes
//! memory. What memory holds is in `memory`; that of the program is given to each step.

use super::states::States;
use crate::{Next, Program, Waiting};
use membar_core::{Access, AccessKind, Barrier, Performed, Relaxation};

/// A store is still in its buffer.
pub(super) const LATER: u32 = u32::MAX;

/// A way to go on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// A thread makes its next access,
    Step(usize),
    /// which is a choice.
    Choose(usize, u32),
    /// The store at this place of a thread's buffer reaches memory.
    Commit(usize, usize),
}

/// An access that has been made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub thread: u32,
    pub access: Access,
    pub writes: bool,
    /// What was chosen.
    pub choice: Option<u64>,
    pub time: u32,
}

/// A store that has not reached memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffered {
    pub event: u32,
    access: Access,
    /// Of the whole address; only its own bytes count.
    value: u64,
    epoch: u32,
    /// What it found had come to its end.
    dead: bool,
}

/// What is at an address, and whether that has come to its end.
pub(super) type Seen = (u64, bool);

#[derive(Clone, Debug, Default)]
struct Thread {
    /// The number of what it has found, and how many steps it has made.
    history: u32,
    steps: usize,
    /// Oldest first.
    buffer: Vec<Buffered>,
    epoch: u32,
}

/// How to take a step back.
pub(super) enum Undo {
    Step { thread: usize, history: u32, epoch: u32, stored: bool, memory: Option<(u32, Option<Seen>)> },
    Commit { thread: usize, place: usize, store: Buffered, memory: (u32, Option<Seen>) },
}

/// The machine.
pub(super) struct Machine {
    kind: Relaxation,
    threads: Vec<Thread>,
    memory: Vec<Option<Seen>>,
    pub(super) events: Vec<Event>,
    time: u32,
}

/// Whether two accesses have a byte in common.
pub(super) fn meet(one: &Access, other: &Access) -> bool {
    one.addr == other.addr && one.overlaps(other)
}

impl Machine {
    pub(super) fn new(kind: Relaxation, threads: usize) -> Machine {
        let thread = |t| Thread { history: t as u32, ..Thread::default() };
        let threads = (0..threads).map(thread).collect();
        Machine { kind, threads, memory: Vec::new(), events: Vec::new(), time: 0 }
    }

    pub(super) fn kind(&self) -> Relaxation {
        self.kind
    }

    /// How many steps the program has made.
    pub(super) fn steps(&self) -> usize {
        self.events.len()
    }

    pub(super) fn memory(&self) -> &[Option<Seen>] {
        &self.memory
    }

    /// Whether the thread has made that many steps.
    pub(super) fn has_made(&self, thread: usize, steps: usize) -> bool {
        self.threads[thread].steps >= steps
    }

    /// Of each thread all that decides its future. Epochs count from that of the oldest store.
    pub(super) fn threads(&self) -> impl Iterator<Item = Box<[u64]>> + '_ {
        self.threads.iter().map(|thread| {
            let first = thread.buffer.first().map_or(thread.epoch, |store| store.epoch);
            let mut key = vec![u64::from(thread.history), u64::from(thread.epoch - first)];
            for store in &thread.buffer {
                let place = u64::from(store.access.addr) << 8 | u64::from(store.access.part);
                let kind = u64::from(store.epoch - first) << 1 | u64::from(store.access.c11.ends());
                key.extend([place, store.value, kind << 1 | u64::from(store.dead)]);
            }
            key.into()
        })
    }

    /// What memory holds at an address.
    fn at(&mut self, program: &mut impl Program, addr: u32) -> Seen {
        let at = addr as usize;
        if at >= self.memory.len() {
            self.memory.resize(at + 1, None);
        }
        *self.memory[at].get_or_insert_with(|| (program.memory(addr), false))
    }

    /// What a thread finds for this access.
    fn view(&mut self, program: &mut impl Program, thread: usize, access: &Access) -> Seen {
        let mut seen = self.at(program, access.addr);
        for store in self.threads[thread].buffer.iter().filter(|store| meet(&store.access, access)) {
            seen = (program.merge(&store.access, seen.0, store.value), store.access.c11.ends());
        }
        seen
    }

    /// The epoch of an access after this barrier.
    fn epoch_after(&self, thread: usize, barrier: Barrier) -> u32 {
        let Thread { buffer, epoch, .. } = &self.threads[thread];
        epoch + u32::from(barrier >= Barrier::Store && buffer.last().is_some_and(|store| store.epoch == *epoch))
    }

    /// Whether the access has to wait for stores of its own thread.
    fn is_held_back(&self, thread: usize, access: &Access) -> bool {
        let epoch = self.epoch_after(thread, access.barrier);
        self.threads[thread].buffer.iter().any(|store| {
            let interlocked = self.kind == Relaxation::Tso || meet(&store.access, access) || store.epoch < epoch;
            access.barrier == Barrier::Full || access.kind == AccessKind::Rmw && interlocked
        })
    }

    /// Whether a store of the thread may reach memory.
    fn is_ready(&self, thread: usize, place: usize) -> bool {
        let buffer = &self.threads[thread].buffer;
        let store = &buffer[place];
        match self.kind {
            Relaxation::Tso => place == 0,
            Relaxation::Pso => {
                store.epoch == buffer[0].epoch
                    && !buffer[..place].iter().any(|older| meet(&older.access, &store.access))
            }
        }
    }

    /// Whether what the thread waits for is not there.
    fn is_blocked(&mut self, program: &mut impl Program, thread: usize, access: &Access) -> bool {
        let Waiting { round, repeated, blocking, parked, lock } = program.waiting(thread);
        let (round, lock) = (round.to_vec(), lock.copied());
        let mut blocks = |awaited: &crate::Awaited| {
            let whole = Access { addr: awaited.addr, part: 0, ..*access };
            awaited.blocks(self.view(program, thread, &whole).0)
        };
        if blocking {
            return round.get(repeated).is_some_and(blocks);
        }
        if parked {
            return lock.as_ref().is_some_and(&mut blocks) || round.iter().all(blocks);
        }
        repeated + 1 == round.len() && round.iter().all(blocks)
    }

    /// The ways to go on.
    pub(super) fn ways(&mut self, program: &mut impl Program, max_steps: usize) -> Vec<Way> {
        let mut ways = Vec::new();
        for thread in 0..self.threads.len() {
            let Next::Access(access) = program.next(thread) else { continue };
            if self.has_made(thread, max_steps) {
                continue;
            }
            if let Some(outcomes) = access.outcomes() {
                return (0..outcomes as u32).map(|outcome| Way::Choose(thread, outcome)).collect();
            }
            let waits = !program.waiting(thread).round.is_empty();
            if self.is_held_back(thread, &access) || waits && self.is_blocked(program, thread, &access) {
                continue;
            }
            if !waits && access.kind == AccessKind::Store {
                return vec![Way::Step(thread)];
            }
            ways.push(Way::Step(thread));
        }
        for thread in 0..self.threads.len() {
            let ready = (0..self.threads[thread].buffer.len()).filter(|&place| self.is_ready(thread, place));
            ways.extend(ready.map(|place| Way::Commit(thread, place)));
        }
        ways
    }

    /// Goes a way. Whether a store has come to an object which ended after that store was made.
    pub(super) fn go(&mut self, way: Way, program: &mut impl Program, states: &mut States) -> (Undo, bool) {
        self.time += 1;
        match way {
            Way::Step(thread) => (self.step(thread, program, states), false),
            Way::Choose(thread, outcome) => {
                let performed = program.choose(thread, outcome);
                let undo = self.note(&performed, Some(u64::from(outcome)), states, (u64::from(outcome), false));
                (undo, false)
            }
            Way::Commit(thread, place) => {
                let store = self.threads[thread].buffer.remove(place);
                self.events[store.event as usize].time = self.time;
                let addr = store.access.addr;
                let (value, ended) = self.at(program, addr);
                let ends = store.access.c11.ends();
                let before = self.memory[addr as usize];
                self.memory[addr as usize] = Some((program.merge(&store.access, value, store.value), ends));
                (Undo::Commit { thread, place, store, memory: (addr, before) }, ended && !store.dead && !ends)
            }
        }
    }

    fn step(&mut self, thread: usize, program: &mut impl Program, states: &mut States) -> Undo {
        let Next::Access(access) = program.next(thread) else { panic!("thread {thread} has no access to make") };
        let (found, dead) = self.view(program, thread, &access);
        let performed = program.step_finding(thread, found, dead);
        let memory = self.at(program, access.addr);
        let epoch = self.epoch_after(thread, access.barrier);
        // It knows nothing of other bytes.
        let kept = if access.kind == AccessKind::Store { 0 } else { program.merge(&access, 0, performed.old) };
        let undo = self.note(&performed, None, states, (kept, dead));
        let this = &mut self.threads[thread];
        this.epoch = epoch;
        let access = performed.access;
        let mut left = memory.0;
        if access.kind == AccessKind::Store {
            let event = self.events.len() as u32 - 1;
            this.buffer.push(Buffered { event, access, value: performed.new, epoch, dead });
        } else if performed.writes {
            left = performed.new;
            self.memory[access.addr as usize] = Some((left, access.c11.ends()));
        }
        program.leave(access.addr, left);
        undo
    }

    /// Notes a step of the program, in which its thread found this.
    fn note(&mut self, performed: &Performed, choice: Option<u64>, states: &mut States, (found, dead): Seen) -> Undo {
        let &Performed { thread, access, writes, .. } = performed;
        let stored = access.kind == AccessKind::Store;
        let time = if stored { LATER } else { self.time };
        self.events.push(Event { thread, access, writes, choice, time });
        let thread = thread as usize;
        let this = &mut self.threads[thread];
        let (history, epoch) = (this.history, this.epoch);
        this.history = states.found(history, found, dead);
        this.steps += 1;
        let before = self.memory.get(access.addr as usize).copied().flatten();
        let memory = (writes && !stored).then_some((access.addr, before));
        Undo::Step { thread, history, epoch, stored, memory }
    }

    /// Takes the last step back.
    pub(super) fn undo(&mut self, undo: Undo, program: &mut impl Program) {
        match undo {
            Undo::Step { thread, history, epoch, stored, memory } => {
                program.undo();
                self.events.pop();
                let this = &mut self.threads[thread];
                (this.history, this.epoch, this.steps) = (history, epoch, this.steps - 1);
                if stored {
                    this.buffer.pop();
                }
                if let Some((addr, before)) = memory {
                    self.memory[addr as usize] = before;
                }
            }
            Undo::Commit { thread, place, store, memory: (addr, before) } => {
                self.events[store.event as usize].time = LATER;
                self.threads[thread].buffer.insert(place, store);
                self.memory[addr as usize] = before;
            }
        }
    }

    /// Has the program's memory hold what the machine's does: what it held.
    pub(super) fn show(&self, program: &mut impl Program) -> Vec<(u32, u64)> {
        let mut before = Vec::new();
        for (addr, seen) in (0..).zip(&self.memory) {
            let Some((value, _)) = *seen else { continue };
            let old = program.value(addr);
            if old != value {
                before.push((addr, old));
                program.hold(addr, value);
            }
        }
        before
    }

    /// Of each event when it is in memory. Stores that are still in buffers come there after all others, thread by thread.
    pub(super) fn times(&self) -> Vec<u32> {
        let mut times: Vec<u32> = self.events.iter().map(|event| event.time).collect();
        let left = self.threads.iter().flat_map(|thread| &thread.buffer);
        for (later, store) in (self.time + 1..).zip(left) {
            times[store.event as usize] = later;
        }
        times
    }
}
