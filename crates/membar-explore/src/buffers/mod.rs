//! Executions of a machine whose store buffers hold bytes, for programs that access parts of words.
//!
//! # Problem
//!
//! Execution graphs have whole addresses ([`crate::Graphs`]). Where accesses to one address have some bytes in common and not
//! others, a read has a source for each byte. Which ends do the executions of such a program have under TSO or PSO?
//!
//! # Definitions
//!
//! The machine is that of `membar-monitor/src/bytes.rs`: a store goes into its thread's buffer as a whole and reaches memory in one step; a load
//! takes each byte from the newest store in the buffer that has it, and the others from memory, in one step. [`machine`] has
//! its rules.
//!
//! # Algorithm
//!
//! Depth first over the steps of the machine: a thread makes its next access, which finds what the machine says
//! ([`crate::Program::step_finding`]), or a store reaches memory.
//!
//! * *Steps that are nobody else's business* are made at once, and nothing else is tried there: a store enters its buffer, a choice
//!   is made. What other threads and buffers do neither makes them impossible nor changes what they do, and the other way
//!   round; so every execution is one in which they come first, but for the order of steps that commute.
//! * *States* that have been seen are left: a state is what each thread has found in its bytes so far, buffers, and memory. A thread's next
//!   action depends on nothing but that, so equal states have equal futures, up to rounds of loops without effect. States are compared exactly, with numbers for their parts
//!   ([`states`]).
//! * *Waiting loops*: a thread that is about to close an idle round is not run as long as it would read the same values; so it
//!   is with accesses that block ([`crate::Waiting`]).
//!
//! # Guarantees
//!
//! Every state of the machine is reached in which a thread is at a fault or no step is possible, up to rounds of loops
//! without effect. Each is told once, with one execution that leads there: how many executions do, and on what else they rest, is not known.
//!
//! A store to an object that comes to its end while the store is in the buffer cannot be told that it does; this is a limit, and said.
//!
//! # Complexity
//!
//! Each state costs its steps. Memory grows with the states. One worker does it all, so that states are known; what is left when
//! a search is stopped begins without those that were known.

mod execution;
mod machine;
mod states;

use crate::end::{End, is_stirred};
use crate::graph::{GraphOutcome, GraphTask};
use crate::set::{Many, Set};
use crate::{Counts, Fault, FaultKind, Next, Observer, Program};
use machine::{Machine, Undo, Way};
use membar_core::{GraphModel, Relaxation};
use states::States;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many states that are known cost as much as an execution.
const FOR_ONE: u64 = 256;

/// Ways to go on from a state, how many have been taken, and how to take the last one back.
struct Frame {
    ways: Vec<Way>,
    taken: u32,
    undo: Option<Undo>,
}

/// The search; see the module.
pub struct Buffers<P, O> {
    program: P,
    observer: O,
    machine: Machine,
    max_steps: usize,
    frames: Vec<Frame>,
    states: States,
    counts: Counts,
    /// The path to a task is being taken: all this has been seen.
    again: bool,
}

impl<P: Program, O: Observer> Buffers<P, O> {
    /// A search with a program at its beginning. A thread is not run any further after `max_steps` steps.
    pub fn new(program: P, observer: O, machine: Relaxation, max_steps: usize) -> Buffers<P, O> {
        let machine = Machine::new(machine, program.threads());
        let (frames, states, counts) = (Vec::new(), States::default(), Counts::default());
        Buffers { program, observer, machine, max_steps, frames, states, counts, again: false }
    }

    /// Whether it looks for the executions of this model.
    pub fn is_for(&self, model: GraphModel) -> bool {
        model.machine() == Some(self.machine.kind())
    }

    /// The program.
    pub fn program(&self) -> &P {
        &self.program
    }

    /// The program, at its beginning again, and the observer.
    pub fn into_parts(mut self) -> (P, O) {
        self.program.restart(self.machine.steps());
        (self.program, self.observer)
    }

    /// Runs a task until it is done, this many executions have been run, or it is time to stop.
    pub fn run(&mut self, task: &GraphTask, budget: u64, stop: &AtomicBool) -> GraphOutcome<O::Part> {
        self.counts = Counts::default();
        self.program.restart(self.machine.steps());
        self.machine = Machine::new(self.machine.kind(), self.program.threads());
        self.frames.clear();
        self.again = true;
        self.open();
        for &taken in &task.path {
            let Some(frame) = self.frames.last_mut() else { break };
            frame.taken = taken;
            if self.take().is_some() {
                self.open();
            }
        }
        self.again = false;
        let floor = task.path.len();
        if let Some(frame) = self.frames.get_mut(floor) {
            frame.taken = task.next;
        }
        if task.path.is_empty() && task.next == 0 {
            self.states = States::default();
            (0..self.program.threads()).for_each(|thread| self.look_at(thread));
            if self.frames.last().is_some_and(|frame| frame.ways.is_empty()) {
                self.end();
            }
        }
        let mut rest = Vec::new();
        while self.frames.len() > floor && !self.program.is_void() {
            if self.counts.runs() + self.counts.redundant / FOR_ONE >= budget
                || stop.load(Ordering::Relaxed)
                || self.observer.enough()
            {
                rest = self.rest(floor);
                break;
            }
            let Some(way) = self.take() else {
                self.frames.pop();
                continue;
            };
            if !self.states.is_new(&self.machine) {
                self.counts.redundant += 1;
            } else {
                if let Way::Step(thread) | Way::Choose(thread, _) = way {
                    self.look_at(thread);
                }
                self.open();
                if self.frames.last().is_some_and(|frame| frame.ways.is_empty()) {
                    self.end();
                }
            }
        }
        GraphOutcome { counts: std::mem::take(&mut self.counts), part: self.observer.take(&[]), rest }
    }

    /// The tasks that are left from this frame on, the deepest last.
    fn rest(&self, floor: usize) -> Vec<GraphTask> {
        let path: Vec<u32> = self.frames.iter().map(|frame| frame.taken.saturating_sub(1)).collect();
        let task = |at: usize| GraphTask { path: path[..at].to_vec(), next: self.frames[at].taken };
        let has_more = |&at: &usize| (self.frames[at].taken as usize) < self.frames[at].ways.len();
        (floor..self.frames.len()).filter(has_more).map(task).collect()
    }

    /// Lists the ways to go on from here.
    fn open(&mut self) {
        let ways = self.machine.ways(&mut self.program, self.max_steps);
        self.frames.push(Frame { ways, taken: 0, undo: None });
    }

    /// Goes the next way from the last state, if there is one.
    fn take(&mut self) -> Option<Way> {
        let frame = self.frames.last_mut()?;
        if let Some(undo) = frame.undo.take() {
            self.machine.undo(undo, &mut self.program);
        }
        let way = *frame.ways.get(frame.taken as usize).filter(|_| !self.program.is_void())?;
        frame.taken += 1;
        let (undo, is_lost) = self.machine.go(way, &mut self.program, &mut self.states);
        frame.undo = Some(undo);
        if let Way::Commit(thread, _) = way {
            if is_lost && !self.again {
                let message = "stores to an object whose life ends while the store is in a buffer; what happens then is not known";
                let fault = Fault { kind: FaultKind::Limit, ..Fault::error(message) };
                self.observer.weak_fault(thread, fault, &self.machine);
            }
        } else {
            self.counts.events += u64::from(!self.again);
        }
        Some(way)
    }

    /// Tells of a thread that cannot continue.
    fn look_at(&mut self, thread: usize) {
        if !self.program.is_void() && self.program.next(thread) == Next::Fault {
            let fault = self.program.fault(thread);
            self.observer.weak_fault(thread, fault, &self.machine);
        }
    }

    /// No step is possible.
    fn end(&mut self) {
        let (mut waiting, mut cut) = (Many::NONE, false);
        for thread in 0..self.program.threads() {
            match self.program.next(thread) {
                Next::Long => cut = true,
                Next::Access(_) => {
                    let waits = !self.program.waiting(thread).round.is_empty();
                    cut |= !waits || self.machine.has_made(thread, self.max_steps);
                    waiting |= Many::one(thread);
                }
                Next::Done | Next::Fault => {}
            }
        }
        let sc = self.machine.is_sc();
        if cut {
            self.counts.cut += 1;
            self.counts.executions += 1;
            return self.observer.weak_end(End::Cut { period: None }, sc, &self.machine);
        }
        let before = self.machine.show(&mut self.program);
        let end = if is_stirred(&self.program, waiting) { None } else { Some(End::waiting(&self.program, waiting)) };
        match end {
            None => self.counts.blocked += 1,
            Some(End::Dropped) => self.counts.dropped += 1,
            Some(_) => {
                self.counts.executions += 1;
                self.counts.not_sc += u64::from(!sc);
            }
        }
        if let Some(end) = end {
            self.observer.weak_end(end, sc, &self.machine);
        }
        if end == Some(End::Complete) {
            self.observer.weak_outcome(self.program.outcome(), &self.machine);
        }
        before.into_iter().for_each(|(addr, value)| self.program.hold(addr, value));
    }
}
