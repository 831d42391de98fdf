//! The TSO or PSO execution that a report stands for, with its commits.
//!
//! # Problem
//! A report of [`Tso`](crate::Tso) or [`Pso`](crate::Pso) claims that an execution exists which is not SC. Write it down.
//!
//! # Algorithm
//! 1. Do what the monitor simulates, with real queues and values: before an access, commit what other threads have pending at
//!    its address; then issue it. Every load so far returns what it returned in the SC execution.
//! 2. At the report, issue the access *without* committing the store first (figures 9 and 10 of the report): a load reads
//!    memory, a store is issued and its buffer is emptied (PSO: of its address), an interlocked operation goes to memory.
//! 3. Commit everything else. "While empty" in the figures means while *not* empty.
//!
//! # Invariants
//! At most one thread has pending stores to an address; it is the one that wrote it last.
//!
//! # Complexity
//! O(1) per step: buffers may be as long as the run, so they have an index, unlike [`membar_core::StoreBuffer`].
//! Memory grows with the number of stores that are pending at the same time; the monitors have no such queue.
//!
//! # Guarantees
//! The steps are a run of the machine, and its trace has the cycle `store →hb prev →po access →c store`. Tests replay every
//! witness on their own machine.

use crate::cycle::Recorded;
use crate::event::{Event, Op, Violation};
use membar_core::Relaxation;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::fmt;

/// One step of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum WitnessStep {
    /// A store enters its buffer.
    Issue {
        /// The thread.
        thread: u32,
        /// The address.
        addr: u32,
        /// The value stored.
        value: u64,
        /// Place of the event in the interleaving.
        at: u64,
    },
    /// The store that was issued at this place reaches memory.
    Commit {
        /// The thread.
        thread: u32,
        /// The address.
        addr: u32,
        /// The value stored.
        value: u64,
        /// Place of the event in the interleaving.
        at: u64,
    },
    /// A load returns a value.
    Load {
        /// The thread.
        thread: u32,
        /// The address.
        addr: u32,
        /// The value returned.
        value: u64,
        /// Place of the event in the interleaving.
        at: u64,
    },
    /// An interlocked operation, in memory.
    Interlocked {
        /// The thread.
        thread: u32,
        /// The address.
        addr: u32,
        /// The value before.
        read: u64,
        /// The value after, if it writes and that is known.
        write: Option<u64>,
        /// Place of the event in the interleaving.
        at: u64,
    },
    /// A barrier, thread start or join passes.
    Other(Event),
}

impl WitnessStep {
    /// One line, with threads and addresses as the caller names them.
    pub fn text(&self, thread: impl Fn(u32) -> u32, addr: impl Fn(u32) -> String) -> String {
        let name = thread;
        match *self {
            WitnessStep::Issue { thread, addr: a, value, .. } => {
                format!("issue  {}: {} := {value}", name(thread), addr(a))
            }
            WitnessStep::Commit { thread, addr: a, value, .. } => {
                format!("commit {}: {} := {value}", name(thread), addr(a))
            }
            WitnessStep::Load { thread, addr: a, value, .. } => {
                format!("load   {}: {} == {value}", name(thread), addr(a))
            }
            WitnessStep::Interlocked { thread, addr: a, read, write, .. } => {
                let (thread, a) = (name(thread), addr(a));
                match write {
                    Some(write) => format!("atomic {thread}: {{ {a} == {read}; {a} := {write} }}"),
                    None => format!("atomic {thread}: {{ {a} == {read} }}"),
                }
            }
            WitnessStep::Other(event) => {
                let thread = name(event.thread);
                match event.op {
                    Op::Start { child } => format!("start  {thread}: {}", name(child)),
                    Op::Join { child } => format!("join   {thread}: {}", name(child)),
                    Op::StoreBarrier => format!("order  {thread}: membar #StoreStore"),
                    _ => format!("fence  {thread}: sync"),
                }
            }
        }
    }

    /// Place of the event in the interleaving.
    pub fn at(&self) -> u64 {
        match *self {
            WitnessStep::Issue { at, .. }
            | WitnessStep::Commit { at, .. }
            | WitnessStep::Load { at, .. }
            | WitnessStep::Interlocked { at, .. } => at,
            WitnessStep::Other(event) => event.at,
        }
    }
}

impl fmt::Display for WitnessStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(|thread| thread, |addr| format!("M[{addr}]")))
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    addr: u32,
    value: u64,
    at: u64,
    /// Store-store barriers of the thread before it.
    barriers: u32,
    committed: bool,
}

/// The stores of a thread, oldest first. Under PSO some may be committed before older ones.
#[derive(Clone, Debug, Default)]
struct Buffer {
    entries: VecDeque<Entry>,
    /// Entries that have left.
    gone: u64,
    barriers: u32,
    /// The pending ones of each address, by number.
    places: FxHashMap<u32, VecDeque<u64>>,
}

impl Buffer {
    fn pending(&self, addr: u32) -> Option<u64> {
        self.places.get(&addr).and_then(|queue| queue.front().copied())
    }
}

/// Runs the machine beside a monitor; see the [module](self).
#[derive(Clone, Debug)]
pub struct Witness {
    model: Relaxation,
    memory: FxHashMap<u32, u64>,
    buffers: Vec<Buffer>,
    /// The thread that wrote the address last.
    writer: FxHashMap<u32, u32>,
}

impl Witness {
    /// Memory is zero.
    pub fn new(model: Relaxation) -> Witness {
        Witness { model, memory: FxHashMap::default(), buffers: Vec::new(), writer: FxHashMap::default() }
    }

    /// Sets the initial value of an address.
    pub fn initial(&mut self, addr: u32, value: u64) {
        self.memory.insert(addr, value);
    }

    /// Stores that are pending.
    pub fn pending(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.entries.len()).sum()
    }

    fn fit(&mut self, event: &Event) {
        let most = match event.op {
            Op::Start { child } | Op::Join { child } => event.thread.max(child),
            _ => event.thread,
        };
        if self.buffers.len() <= most as usize {
            self.buffers.resize_with(most as usize + 1, Buffer::default);
        }
    }

    /// The next event of the SC execution; `steps` gets what the machine does.
    pub fn event(&mut self, recorded: &Recorded, steps: &mut Vec<WitnessStep>) {
        self.fit(&recorded.event);
        if let Some(addr) = recorded.event.op.addr()
            && let Some(&writer) = self.writer.get(&addr)
            && writer != recorded.event.thread
        {
            self.commit_place(writer, addr, steps);
        }
        self.issue(recorded, Some(recorded.write), steps);
    }

    /// The access of the report: overtakes the store; then everything is committed.
    pub fn finish(&mut self, recorded: &Recorded, steps: &mut Vec<WitnessStep>) {
        self.fit(&recorded.event);
        // The value that an interlocked operation writes depends on the value it read, which is another one now.
        self.issue(recorded, None, steps);
        if let Op::Store { addr } = recorded.event.op {
            let thread = recorded.event.thread;
            match self.model {
                Relaxation::Tso => self.commit_all(thread, steps),
                Relaxation::Pso => self.commit_place(thread, addr, steps),
            }
        }
        for thread in 0..self.buffers.len() as u32 {
            self.commit_all(thread, steps);
        }
    }

    fn issue(&mut self, recorded: &Recorded, write: Option<u64>, steps: &mut Vec<WitnessStep>) {
        let Recorded { event, write: value, .. } = *recorded;
        let Event { thread, at, .. } = event;
        match event.op {
            Op::Load { addr } => steps.push(WitnessStep::Load { thread, addr, value: self.read(thread, addr), at }),
            Op::Store { addr } => {
                let buffer = &mut self.buffers[thread as usize];
                let number = buffer.gone + buffer.entries.len() as u64;
                buffer.places.entry(addr).or_default().push_back(number);
                let barriers = buffer.barriers;
                buffer.entries.push_back(Entry { addr, value, at, barriers, committed: false });
                self.writer.insert(addr, thread);
                steps.push(WitnessStep::Issue { thread, addr, value, at });
            }
            Op::Interlocked { addr, writes } => {
                match self.model {
                    Relaxation::Tso => self.commit_all(thread, steps),
                    Relaxation::Pso => {
                        self.commit_place(thread, addr, steps);
                        self.commit_before(thread, self.buffers[thread as usize].barriers, steps);
                    }
                }
                let read = self.memory.get(&addr).copied().unwrap_or(0);
                let write = if writes { write } else { None };
                if writes {
                    self.memory.insert(addr, value);
                    self.writer.insert(addr, thread);
                }
                steps.push(WitnessStep::Interlocked { thread, addr, read, write, at });
            }
            Op::StoreBarrier => {
                self.buffers[thread as usize].barriers += 1;
                steps.push(WitnessStep::Other(event));
            }
            Op::Fence | Op::Start { .. } => {
                self.commit_all(thread, steps);
                steps.push(WitnessStep::Other(event));
            }
            Op::Join { child } => {
                self.commit_all(child, steps);
                steps.push(WitnessStep::Other(event));
            }
        }
    }

    fn read(&self, thread: u32, addr: u32) -> u64 {
        let buffer = &self.buffers[thread as usize];
        let own = buffer.places.get(&addr).and_then(|queue| queue.back());
        match own {
            Some(&number) => buffer.entries[(number - buffer.gone) as usize].value,
            None => self.memory.get(&addr).copied().unwrap_or(0),
        }
    }

    /// Commits the oldest store that is pending.
    fn commit_first(&mut self, thread: u32, steps: &mut Vec<WitnessStep>) {
        let buffer = &self.buffers[thread as usize];
        self.commit_one(thread, buffer.gone, steps);
    }

    /// Commits this store, under PSO perhaps before older ones.
    fn commit_one(&mut self, thread: u32, number: u64, steps: &mut Vec<WitnessStep>) {
        let buffer = &mut self.buffers[thread as usize];
        let entry = &mut buffer.entries[(number - buffer.gone) as usize];
        entry.committed = true;
        let Entry { addr, value, at, .. } = *entry;
        if let Some(queue) = buffer.places.get_mut(&addr) {
            queue.pop_front();
            if queue.is_empty() {
                buffer.places.remove(&addr);
            }
        }
        while buffer.entries.front().is_some_and(|entry| entry.committed) {
            buffer.entries.pop_front();
            buffer.gone += 1;
        }
        self.memory.insert(addr, value);
        steps.push(WitnessStep::Commit { thread, addr, value, at });
    }

    fn commit_all(&mut self, thread: u32, steps: &mut Vec<WitnessStep>) {
        while !self.buffers[thread as usize].entries.is_empty() {
            self.commit_first(thread, steps);
        }
    }

    /// Commits what the barriers put before a store that comes after this many of them.
    fn commit_before(&mut self, thread: u32, barriers: u32, steps: &mut Vec<WitnessStep>) {
        while self.buffers[thread as usize].entries.front().is_some_and(|entry| entry.barriers < barriers) {
            self.commit_first(thread, steps);
        }
    }

    /// Commits the thread's stores to the address, and what must be committed before them.
    fn commit_place(&mut self, thread: u32, addr: u32, steps: &mut Vec<WitnessStep>) {
        while let Some(number) = self.buffers[thread as usize].pending(addr) {
            if self.model == Relaxation::Tso {
                self.commit_first(thread, steps);
                continue;
            }
            let buffer = &self.buffers[thread as usize];
            let barriers = buffer.entries[(number - buffer.gone) as usize].barriers;
            self.commit_before(thread, barriers, steps);
            // It may have been among those, if it is as old as they are.
            if self.buffers[thread as usize].pending(addr) == Some(number) {
                self.commit_one(thread, number, steps);
            }
        }
    }
}

/// The execution that a violation stands for, from the recorded SC interleaving in which it was found, with the initial
/// values of addresses that are not 0. `None` if the access is not in it.
pub fn witness(
    model: Relaxation,
    initial: &[(u32, u64)],
    events: &[Recorded],
    violation: &Violation,
) -> Option<Vec<WitnessStep>> {
    let end = events.iter().position(|recorded| recorded.event == violation.access)?;
    let mut machine = Witness::new(model);
    for &(addr, value) in initial {
        machine.initial(addr, value);
    }
    let mut steps = Vec::new();
    for recorded in &events[..end] {
        machine.event(recorded, &mut steps);
    }
    machine.finish(&events[end], &mut steps);
    Some(steps)
}
