//! Runs a claimed execution of a program on a machine with store buffers, step by step.
//!
//! Problem: a verifier says that this program ([`Threads`]) has an execution under TSO or PSO that is not sequentially
//! consistent, and gives its steps. Is every one of them possible, and does the trace really have a happens-before cycle?
//!
//! Algorithm:
//! 1. Run the steps. The machines are those of Burnim, Sen and Stergiou (2010), figures 2 and 3, with barriers.
//!    [`Step::Issue`] makes a thread's next access: a store enters the thread's buffer; a load returns the youngest
//!    store to its address there, else memory; an interlocked operation acts on memory. [`Step::Commit`] moves a
//!    buffered store to memory. A step that may not happen yet is refused, with the reason:
//!    * an access after a full barrier, and under TSO an interlocked operation, while its thread has a buffered store;
//!    * under PSO an interlocked operation while its thread has a buffered store to its address, or one from before its
//!      last store barrier;
//!    * the commit of a store that is not the oldest of its thread (TSO), or of its thread and address (PSO), or under
//!      PSO one that a store barrier keeps behind a buffered store.
//!
//!    Where an access has only some bytes of its address ([`Access::part`]), "to its address" means "to one of its bytes": a store
//!    enters the buffer, and reaches memory, with its bytes and no others; a load takes each byte from the youngest store in
//!    the buffer that has it, else from memory.
//!
//!    Nothing is committed that the steps do not commit. At the end nothing may be left in a buffer.
//! 2. The trace: per thread its accesses in program order, where each read its value, and per address the writes in the
//!    order in which they reached memory. Happens-before is po ∪ rf ∪ co ∪ fr.
//! 3. Look for a cycle of happens-before (`execution.rs`).
//!
//! Invariants: a buffer is in program order, so its epochs (the number of store barriers before each store) increase.
//!
//! Complexity: O(s · b) for s steps and buffers of length b, and the search for a cycle.
//!
//! Guarantees: shares no code with the monitors, the explorer or the oracle. Steps may be garbage and nothing panics, as
//! long as the program itself is well-formed: it keeps to [`Threads`], and its addresses are dense.

pub use crate::execution::{Event, Link, Made, Read, Relation, Trace};

use membar_core::{Access, AccessKind, Barrier, Claim, Halt, MachineStep as Step, Relaxation, Threads};
use std::collections::VecDeque;
use std::fmt;

/// An execution that the machine can do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replayed {
    /// Its trace.
    pub trace: Trace,
    /// A happens-before cycle; `None` if the trace is sequentially consistent.
    pub cycle: Option<Vec<Link>>,
}

/// The machine cannot do this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Index of the step that is not possible; the number of steps if it is the end that is wrong.
    pub step: usize,
    /// Why not.
    pub cause: Cause,
}

/// Why a step is not possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// There is no such thread.
    NoThread(u32),
    /// The thread makes no access now.
    Halts {
        /// The thread.
        thread: u32,
        /// Why not.
        halt: Halt,
    },
    /// The thread chooses where the step says that it does not, or the other way round, or there is no such outcome.
    Choice {
        /// The thread.
        thread: u32,
    },
    /// The access has to wait until a store of its own thread is in memory.
    Waits {
        /// The thread.
        thread: u32,
        /// The address of that store.
        behind: u32,
    },
    /// The thread has no buffered store to this address.
    NotBuffered {
        /// The thread.
        thread: u32,
        /// The address.
        addr: u32,
    },
    /// The store has to reach memory after another one of its thread.
    Behind {
        /// The thread.
        thread: u32,
        /// The address of the store that the step commits.
        addr: u32,
        /// The address of the store that comes first.
        first: u32,
    },
    /// At the end the thread still has a buffered store.
    Left {
        /// The thread.
        thread: u32,
        /// The address of the store.
        addr: u32,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = self.step;
        match self.cause {
            Cause::NoThread(thread) => write!(f, "step {step}: there is no thread {thread}"),
            Cause::Halts { thread, halt } => write!(f, "step {step}: thread {thread} {halt}"),
            Cause::Choice { thread } => write!(f, "step {step}: thread {thread} makes no such choice"),
            Cause::Waits { thread, behind } => {
                write!(f, "step {step}: thread {thread} has to wait for its store to address {behind}")
            }
            Cause::NotBuffered { thread, addr } => {
                write!(f, "step {step}: thread {thread} has no store to address {addr} in its buffer")
            }
            Cause::Behind { thread, addr, first } => {
                write!(f, "step {step}: thread {thread}'s store to address {addr} is behind its store to {first}")
            }
            Cause::Left { thread, addr } => {
                write!(f, "after {step} steps thread {thread} still has a store to address {addr} in its buffer")
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// Runs the steps of a program that is at its beginning on the machine: the trace with its cycle, or the first step that the
/// machine cannot do. The program is not at its beginning afterwards.
pub fn replay(program: &mut impl Threads, machine: Relaxation, steps: &[Step]) -> Result<Replayed, Refusal> {
    let mut run = Run::new(program, machine);
    for (index, &step) in steps.iter().enumerate() {
        let done = match step {
            Step::Issue(thread) => run.issue(thread, None),
            Step::Choose(thread, outcome) => run.issue(thread, Some(outcome)),
            Step::Commit(thread, addr, part) => run.commit(thread, addr, part),
        };
        done.map_err(|cause| Refusal { step: index, cause })?;
    }
    for (thread, state) in (0..).zip(&run.threads) {
        if let Some(store) = state.buffer.front() {
            return Err(Refusal { step: steps.len(), cause: Cause::Left { thread, addr: store.access.addr } });
        }
    }
    let cycle = run.trace.cycle();
    Ok(Replayed { trace: run.trace, cycle })
}

/// Whether the machine can do these steps, which make exactly these accesses, each thread's in this order, and whether that
/// is not sequentially consistent.
pub fn confirms(program: &mut impl Threads, machine: Relaxation, steps: &[Step], claims: &[Claim]) -> bool {
    let Ok(replayed) = replay(program, machine, steps) else { return false };
    replayed.trace.is_claimed(claims) && replayed.cycle.is_some()
}

struct Buffered {
    event: Event,
    access: Access,
    /// Of the whole address; only its own bytes count.
    value: u64,
    epoch: u32,
}

impl Buffered {
    /// Whether it has a byte of this access.
    fn meets(&self, access: &Access) -> bool {
        self.access.addr == access.addr && self.access.overlaps(access)
    }
}

#[derive(Default)]
struct Thread {
    /// Oldest first.
    buffer: VecDeque<Buffered>,
    /// How many store barriers it has passed.
    epoch: u32,
}

struct Run<'p, P> {
    program: &'p mut P,
    machine: Relaxation,
    threads: Vec<Thread>,
    trace: Trace,
    /// What the last access found had come to its end.
    ended: bool,
}

impl<'p, P: Threads> Run<'p, P> {
    fn new(program: &'p mut P, machine: Relaxation) -> Run<'p, P> {
        let threads = program.threads();
        Run {
            program,
            machine,
            threads: (0..threads).map(|_| Thread::default()).collect(),
            trace: Trace { threads: vec![Vec::new(); threads], order: Vec::new() },
            ended: false,
        }
    }

    /// A write reaches memory, with its bytes of this value.
    fn write(&mut self, event: Event, access: &Access, value: u64) {
        let (order, at) = (&mut self.trace.order, access.addr as usize);
        if at >= order.len() {
            order.resize_with(at + 1, Vec::new);
        }
        order[at].push(event);
        let value = match access.part {
            0 => value,
            _ => {
                let there = self.program.value(access.addr);
                self.program.merge(access, there, value)
            }
        };
        self.program.set(access.addr, value);
    }

    /// The thread makes its next access; if that is a choice, with this outcome.
    fn issue(&mut self, t: u32, outcome: Option<u64>) -> Result<(), Cause> {
        let at = t as usize;
        let thread = self.threads.get_mut(at).ok_or(Cause::NoThread(t))?;
        let access = self.program.next(at).map_err(|halt| Cause::Halts { thread: t, halt })?;
        if !match (access.outcomes(), outcome) {
            (None, None) => true,
            (Some(outcomes), Some(outcome)) => outcome < outcomes,
            _ => false,
        } {
            return Err(Cause::Choice { thread: t });
        }
        if access.barrier >= Barrier::Store {
            thread.epoch += 1;
        }
        let epoch = thread.epoch;
        let blocks = |store: &&Buffered| {
            access.barrier == Barrier::Full
                || access.kind == AccessKind::Rmw
                    && (self.machine == Relaxation::Tso || store.meets(&access) || store.epoch < epoch)
        };
        if let Some(store) = thread.buffer.iter().find(blocks) {
            return Err(Cause::Waits { thread: t, behind: store.access.addr });
        }

        // Memory holds what the last write left there; over it lie the thread's own stores, the youngest on top.
        let memory = self.trace.order.get(access.addr as usize).and_then(|order| order.last()).copied();
        let mut read = Read { source: memory, memory, value: self.program.value(access.addr) };
        for store in thread.buffer.iter().filter(|store| store.meets(&access)) {
            let value = self.program.merge(&store.access, read.value, store.value);
            read = Read { source: Some(store.event), memory, value };
        }
        let read = Read { value: outcome.unwrap_or(read.value), ..read };
        let ended = read.source.and_then(|source| self.trace.get(source)).is_some_and(|made| made.access.c11.ends());
        if std::mem::replace(&mut self.ended, ended) != ended {
            self.program.find_ended(ended);
        }
        let wrote = self.program.perform(at, read.value);
        let event = Event { thread: t, index: self.trace.threads[at].len() as u32 };
        match (access.kind, wrote) {
            (AccessKind::Store, Some(value)) => {
                self.threads[at].buffer.push_back(Buffered { event, access, value, epoch });
            }
            (_, Some(value)) => self.write(event, &access, value),
            (_, None) => {}
        }
        let value = if access.part == 0 { read.value } else { self.program.shown(&access, read.value) };
        let read = access.kind.reads().then_some(Read { value, ..read });
        self.trace.threads[at].push(Made { access, read, wrote });
        Ok(())
    }

    fn commit(&mut self, t: u32, addr: u32, part: u8) -> Result<(), Cause> {
        let thread = self.threads.get_mut(t as usize).ok_or(Cause::NoThread(t))?;
        let place = thread.buffer.iter().position(|store| (store.access.addr, store.access.part) == (addr, part));
        let (Some(place), Some(oldest)) = (place, thread.buffer.front()) else {
            return Err(Cause::NotBuffered { thread: t, addr });
        };
        let store = &thread.buffer[place];
        let first = match self.machine {
            Relaxation::Tso => (place > 0).then_some(oldest),
            Relaxation::Pso if oldest.epoch < store.epoch => Some(oldest),
            Relaxation::Pso => thread.buffer.iter().take(place).find(|older| older.meets(&store.access)),
        };
        if let Some(first) = first {
            return Err(Cause::Behind { thread: t, addr, first: first.access.addr });
        }
        if let Some(store) = thread.buffer.remove(place) {
            self.write(store.event, &store.access, store.value);
        }
        Ok(())
    }
}
