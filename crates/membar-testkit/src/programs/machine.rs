//! A machine with store buffers that runs a program, step by step.

use super::{Event, Id, Memory, Step, Trace};
use membar_core::{Access, AccessKind, Barrier};
use membar_litmus::{Code, Request, Settled};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// A thread of a configuration. Its registers are kept elsewhere, to make copies cheap.
#[derive(Clone, Copy)]
pub(super) struct Thread {
    pc: u32,
    next: Settled,
    /// Where its registers start.
    regs: usize,
    /// How many accesses it has made.
    pub(super) issued: u8,
    /// How many store barriers it has passed.
    epoch: u32,
}

/// A store in a buffer.
#[derive(Clone, Copy)]
struct Entry {
    id: Id,
    addr: u32,
    value: u64,
    /// The number of store barriers that its thread had passed.
    epoch: u32,
}

/// A configuration of a machine, with the trace that led to it.
pub struct Machine<'c> {
    code: &'c Code,
    pub(super) model: Memory,
    pub(super) threads: Vec<Thread>,
    regs: Vec<u64>,
    /// Per address the last write, and its value.
    memory: Vec<(Option<Id>, u64)>,
    /// The buffered stores of all threads, in the order of issue.
    buffer: Vec<Entry>,
    /// The events of all threads in the order of issue, each with a hash of the state its thread was in.
    events: Vec<(Event, u64)>,
    /// The writes of all addresses in the order in which they reached memory.
    commits: Vec<(u32, Id)>,
}

impl Clone for Machine<'_> {
    fn clone(&self) -> Self {
        Machine {
            code: self.code,
            model: self.model,
            threads: self.threads.clone(),
            regs: self.regs.clone(),
            memory: self.memory.clone(),
            buffer: self.buffer.clone(),
            events: self.events.clone(),
            commits: self.commits.clone(),
        }
    }

    /// Keeps the allocations, which is most of the cost.
    fn clone_from(&mut self, from: &Self) {
        self.code = from.code;
        self.model = from.model;
        self.threads.clone_from(&from.threads);
        self.regs.clone_from(&from.regs);
        self.memory.clone_from(&from.memory);
        self.buffer.clone_from(&from.buffer);
        self.events.clone_from(&from.events);
        self.commits.clone_from(&from.commits);
    }
}

impl<'c> Machine<'c> {
    /// The machine before the first step.
    pub fn new(code: &'c Code, model: Memory) -> Machine<'c> {
        let mut machine = Machine {
            code,
            model,
            threads: Vec::new(),
            regs: Vec::new(),
            memory: code.cells.iter().map(|cell| (None, cell.init)).collect(),
            buffer: Vec::new(),
            events: Vec::new(),
            commits: Vec::new(),
        };
        for thread in &code.threads {
            let regs = machine.regs.len();
            machine.regs.extend(&thread.regs);
            machine.threads.push(Thread { pc: 0, next: Settled::Done, regs, issued: 0, epoch: 0 });
            machine.settle(machine.threads.len() - 1);
        }
        machine
    }

    fn settle(&mut self, t: usize) {
        let thread = &mut self.threads[t];
        let regs = &mut self.regs[thread.regs..][..self.code.threads[t].regs.len()];
        thread.next = self.code.settle(t, &mut thread.pc, regs, |_, _| {});
    }

    /// The access that a thread is about to make.
    pub(super) fn request(&self, t: usize) -> Option<Request> {
        match self.threads[t].next {
            Settled::Request(request) => Some(request),
            Settled::Done | Settled::Crash(_) | Settled::Endless | Settled::Long => None,
        }
    }

    /// The number of store barriers that a thread has passed when it makes its next access.
    fn epoch(&self, t: usize, access: Access) -> u32 {
        self.threads[t].epoch + u32::from(access.barrier >= Barrier::Store)
    }

    fn may_issue(&self, t: usize) -> bool {
        let Some(Request { access, .. }) = self.request(t) else { return false };
        let epoch = self.epoch(t, access);
        let waits_for = |entry: &Entry| match (access.barrier, access.kind, self.model) {
            (Barrier::Full, ..) => true,
            (_, AccessKind::Rmw, Memory::Pso) => entry.addr == access.addr || entry.epoch < epoch,
            (_, AccessKind::Rmw, _) => true,
            _ => false,
        };
        !self.buffer.iter().any(|entry| entry.id.thread as usize == t && waits_for(entry))
    }

    fn may_commit(&self, at: usize) -> bool {
        let entry = &self.buffer[at];
        let waits_for = |older: &Entry| match self.model {
            Memory::Pso => older.addr == entry.addr || older.epoch < entry.epoch,
            _ => true,
        };
        !self.buffer[..at].iter().any(|older| older.id.thread == entry.id.thread && waits_for(older))
    }

    /// Where a read by thread `t` would read from now, and what. (An interlocked operation that may be issued finds
    /// nothing to its address in its own buffer.)
    fn read(&self, t: usize, access: Access) -> (Option<Id>, u64) {
        let own = |entry: &&Entry| entry.id.thread as usize == t && entry.addr == access.addr;
        let own = self.buffer.iter().rev().find(own);
        own.map_or(self.memory[access.addr as usize], |entry| (Some(entry.id), entry.value))
    }

    fn write(&mut self, addr: u32, id: Id, value: u64) {
        self.memory[addr as usize] = (Some(id), value);
        self.commits.push((addr, id));
    }

    /// The steps that are possible now.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        self.add_steps(&mut steps);
        steps
    }

    pub(super) fn add_steps(&self, steps: &mut Vec<Step>) {
        let commits = (0..self.buffer.len()).filter(|&at| self.may_commit(at)).map(|at| &self.buffer[at]);
        steps.extend(commits.map(|entry| Step::Commit(entry.id.thread.into(), entry.addr, 0)));
        // Last, because the search begins with the last: late commits are where violations are.
        let issues = (0..self.threads.len()).filter(|&t| self.may_issue(t)).map(|t| Step::Issue(t as u32));
        steps.extend(issues);
    }

    /// Makes a step, which is one of [`Machine::steps`].
    pub fn step(&mut self, step: Step) {
        match step {
            Step::Issue(t) => self.issue(t as usize),
            Step::Choose(..) => unreachable!("programs of the register machine make no choices"),
            Step::Commit(t, addr, _) => {
                let oldest = |entry: &Entry| u32::from(entry.id.thread) == t && entry.addr == addr;
                let at = self.buffer.iter().position(oldest).expect("the step is possible");
                let entry = self.buffer.remove(at);
                self.write(entry.addr, entry.id, entry.value);
            }
        }
    }

    fn issue(&mut self, t: usize) {
        let request = self.request(t).expect("the step is possible");
        let access = request.access;
        let id = Id { thread: t as u8, index: self.threads[t].issued };
        let (source, old) = self.read(t, access);
        let written = request.written(old);
        let epoch = self.epoch(t, access);
        let event = Event { id, access, wrote: written.is_some(), source: source.filter(|_| access.kind.reads()) };
        self.events.push((event, self.local_state(t)));
        match written {
            Some(value) if access.kind == AccessKind::Store && self.model != Memory::Sc => {
                self.buffer.push(Entry { id, addr: access.addr, value, epoch });
            }
            Some(value) => self.write(access.addr, id, value),
            None => {}
        }
        let thread = &mut self.threads[t];
        thread.epoch = epoch;
        thread.issued += 1;
        let regs = &mut self.regs[thread.regs..][..self.code.threads[t].regs.len()];
        self.code.complete(t, &mut thread.pc, regs, old);
        self.settle(t);
    }

    /// A thread's program counter and registers. Two states with one hash could only make [`Limits::max_repeats`] stop
    /// a thread too early.
    fn local_state(&self, t: usize) -> u64 {
        let mut hasher = FxHasher::default();
        let thread = &self.threads[t];
        (thread.pc, &self.regs[thread.regs..][..self.code.threads[t].regs.len()]).hash(&mut hasher);
        hasher.finish()
    }

    /// How often the thread has made the access that it would make now, with the same outcome, since it last wrote.
    pub(super) fn repeats(&self, t: usize) -> usize {
        let Some(Request { access, .. }) = self.request(t) else { return 0 };
        if !access.kind.reads() {
            return 0;
        }
        let (source, _) = self.read(t, access);
        let state = self.local_state(t);
        let mine = self.events.iter().rev().filter(|(event, _)| event.id.thread as usize == t);
        mine.take_while(|(event, _)| !event.wrote).filter(|&&(e, s)| e.source == source && s == state).count()
    }

    /// Whether every thread has run to its end and every store has reached memory.
    pub fn is_done(&self) -> bool {
        self.buffer.is_empty() && self.threads.iter().all(|thread| thread.next == Settled::Done)
    }

    /// The trace so far; buffered stores have no place in [`Trace::order`] yet.
    pub fn trace(&self) -> Trace {
        let of_thread = |t| self.events.iter().map(|e| e.0).filter(|e| e.id.thread as usize == t).collect();
        let of_addr = |a| self.commits.iter().filter(|c| c.0 as usize == a).map(|c| c.1).collect();
        Trace {
            threads: (0..self.threads.len()).map(of_thread).collect(),
            order: (0..self.memory.len()).map(of_addr).collect(),
        }
    }

    /// Forgets the trace so far, and keeps the configuration.
    pub(super) fn forget(&mut self) {
        self.events.clear();
        self.commits.clear();
    }

    /// The value of every register, thread by thread, then of every address.
    pub fn values(&self) -> Vec<u64> {
        self.regs.iter().copied().chain(self.memory.iter().map(|&(_, value)| value)).collect()
    }

    /// Everything that determines the configuration and the trace: the events' sources and the commits.
    pub(super) fn key(&self, key: &mut Vec<u16>) {
        const END: u16 = u16::MAX;
        const INITIAL: u16 = u16::MAX - 1;
        const STORE: u16 = u16::MAX - 2;
        let id = |id: Id| u16::from(id.thread) << 8 | u16::from(id.index);
        key.clear();
        for t in 0..self.threads.len() {
            for (event, _) in self.events.iter().filter(|(event, _)| event.id.thread as usize == t) {
                key.push(if event.access.kind.reads() { event.source.map_or(INITIAL, id) } else { STORE });
            }
            key.push(END);
        }
        for a in 0..self.memory.len() {
            key.extend(self.commits.iter().filter(|commit| commit.0 as usize == a).map(|commit| id(commit.1)));
            key.push(END);
        }
    }

    /// Everything that determines the future.
    pub(super) fn state(&self) -> Vec<u64> {
        let mut state = self.values();
        for (t, thread) in self.threads.iter().enumerate() {
            // A settled thread stands behind its barriers: they are part of the request, not of the program counter.
            let barrier = self.request(t).map_or(Barrier::None, |request| request.access.barrier);
            let mine: Vec<&Entry> = self.buffer.iter().filter(|entry| entry.id.thread as usize == t).collect();
            state.extend([thread.pc.into(), barrier as u64, mine.len() as u64]);
            for (at, entry) in mine.iter().enumerate() {
                // Which epochs differ matters, not by how much.
                let next = mine.get(at + 1).map_or(thread.epoch, |next| next.epoch);
                state.extend([entry.addr.into(), entry.value, (entry.epoch != next).into()]);
            }
        }
        state
    }
}
