//! Enumerates the consistent execution graphs of a program, each once.
//!
//! # Problem
//!
//! Given a program and a model, run one execution for each complete consistent execution graph, in memory that is
//! polynomial in the size of a graph.
//!
//! # Algorithm
//!
//! Truly stateless, optimal dynamic partial order reduction (TruSt). A graph is extended by the next event of the first
//! thread that has one:
//!
//! 1. A read: one branch for each write that it may read from.
//! 2. A write: one branch for each place in co. Then, for each read r of its address that is not in its past (po ∪ rf),
//!    the write *revisits* r: the events that were decided on after r and are not in the past of the write are deleted,
//!    and r reads from the write. So that no graph comes up twice, this is done only if r and the deleted events were
//!    all *maximal*: each read read the last write in co, each write was the last in co, among the events decided on
//!    before it and those in the past of the new write.
//!
//!    A read-modify-write whose source another one has read cannot stand beside that one; but its write may revisit it,
//!    or a read whose revisit deletes it. So it is made in the graph of that revisit, and only there.
//! 3. A choice: one branch for each outcome; the first is the maximal one.
//!
//! *Accesses that block* ([`crate::Waiting`]) are made only with values that let them, or wait: [`super::awaits`].
//!
//! *Barriers*: an arrival ([`membar_core::Access::arrives`]) goes behind those that are there, and revisits none of
//! them. Between its arrival and its departure a thread makes no other access, and departures come after all arrivals;
//! so the order of arrivals makes no cycle that would not be there without it, and graphs that differ in it are one.
//!
//! *Waiting loops*: a thread that has gone round without effect goes no further, because the round could be left out.
//! If one of the reads of the round missed a write that was there, the branch is given up: such a thread can no longer
//! be freed by a revisit. At the end of an execution a thread that waits for something which has come counts for
//! nothing: the execution in which it looks later stands for this one. One that waits for something which has not come
//! waits forever.
//!
//! # Invariants
//!
//! A frame's alternatives begin at the graph that has `depth` events. `stamp` is the order of decisions; a revisited
//! read keeps its own. The graph is consistent, but for the read of a read-modify-write whose write has not been added.
//!
//! # Guarantees
//!
//! Models that are prefix-closed, extensible and have acyclic po ∪ rf: every complete graph is visited exactly once
//! (Kokologiannakis and others, 2022; [`super::awaits`] has the argument, and what it means where accesses block).
//!
//! # Complexity
//!
//! Each event costs a search of the graph for each write to its address that may be its source, or be after it; each
//! revisit takes the events away that come after the first one which it deletes, and adds those again that stay.
//!
//! # Deviations
//!
//! Blocked reads are decided on again instead of being revisited ([`super::awaits`]). Rounds of waiting loops that miss
//! a write are not explored.
//!
//! # References
//!
//! Kokologiannakis, Marmanis, Gladstein, Vafeiadis: Truly stateless, optimal dynamic partial order reduction, POPL
//! 2022.

use super::along::stand;
use super::frame::{Came, Frame, GraphOutcome, GraphTask, Kind, Way};
use super::graph::{After, Event, Graph, INIT, Ran, What};
use super::models::{self, Reach};
use super::revisit::Revisited;
use crate::{Counts, Next, Observer, Program};
use membar_core::{Access, AccessKind, GraphModel, Order};
use std::sync::atomic::{AtomicBool, Ordering};

/// The search; see the module.
pub struct Graphs<P, O> {
    pub(super) program: P,
    pub(super) observer: O,
    pub(super) model: GraphModel,
    pub(super) races: bool,
    pub(super) max_steps: usize,
    pub(super) begin: Vec<After>,
    pub(super) graph: Graph,
    pub(super) frames: Vec<Frame>,
    /// The alternatives of the frames.
    pub(super) ways: Vec<Way>,
    /// The numbers of the steps that the program has made.
    pub(super) made: Vec<u32>,
    pub(super) serial: u32,
    pub(super) counts: Counts,
    pub(super) reach: Reach,
    #[allow(clippy::vec_box)] // they are large, and moved from list to list
    pub(super) spare: Vec<Box<Revisited>>,
    pub(super) past: Vec<u32>,
    /// The path to a task is being taken: all this has been seen.
    pub(super) again: bool,
}

impl<P: Program, O: Observer> Graphs<P, O> {
    /// A search with a program at its beginning. `races` are looked for if the model is C11. A thread is not run any further after
    /// `max_steps` steps.
    pub fn new(program: P, observer: O, model: GraphModel, races: bool, max_steps: usize) -> Graphs<P, O> {
        let threads = program.threads();
        let begin = (0..threads).map(|thread| stand(&program, thread)).collect();
        Graphs {
            program,
            observer,
            model,
            races: races && model == GraphModel::C11,
            max_steps,
            begin,
            graph: Graph::new(threads),
            frames: Vec::new(),
            ways: Vec::new(),
            made: Vec::new(),
            serial: 0,
            counts: Counts::default(),
            reach: Reach::default(),
            spare: Vec::new(),
            past: Vec::new(),
            again: false,
        }
    }

    /// Whether it looks for the executions of this model.
    pub fn is_for(&self, model: GraphModel, races: bool) -> bool {
        (self.model, self.races) == (model, races && model == GraphModel::C11)
    }

    /// The program.
    pub fn program(&self) -> &P {
        &self.program
    }

    /// The program, at its beginning again, and the observer.
    pub fn into_parts(mut self) -> (P, O) {
        self.program.restart(self.made.len());
        (self.program, self.observer)
    }

    /// Runs a task until it is done, this many executions have been run, or it is time to stop.
    pub fn run(&mut self, task: &GraphTask, budget: u64, stop: &AtomicBool) -> GraphOutcome<O::Part> {
        self.counts = Counts::default();
        self.forget();
        self.again = true;
        let mut opened = self.open();
        for &taken in &task.path {
            let Some(frame) = self.frames.last_mut() else { break };
            frame.taken = taken;
            opened = self.take() != Some(Came::On) || self.open();
        }
        self.again = false;
        let floor = task.path.len();
        if let Some(frame) = self.frames.get_mut(floor) {
            frame.taken = task.next;
        } else if !opened {
            // The program makes no step at all.
            self.end();
        }
        let mut rest = Vec::new();
        while self.frames.len() > floor && !self.program.is_void() {
            if self.counts.runs() + self.counts.redundant >= budget
                || stop.load(Ordering::Relaxed)
                || self.observer.enough()
            {
                rest = self.rest(floor);
                break;
            }
            match self.take() {
                Some(Came::On) => {
                    if !self.open() {
                        self.end();
                    }
                }
                Some(Came::Nowhere) => self.counts.redundant += 1,
                Some(Came::Revisits) => {}
                None => self.close(),
            }
        }
        GraphOutcome { counts: std::mem::take(&mut self.counts), part: self.observer.take(&[]), rest }
    }

    /// Opens a frame for the next event, if there is one.
    pub(super) fn open(&mut self) -> bool {
        if self.program.is_void() {
            return false;
        }
        let threads = self.begin.len();
        // The write of a read-modify-write comes right after its read.
        for thread in 0..threads {
            let Some(&last) = self.graph.threads[thread].last() else { continue };
            let read = self.graph.event(last);
            if read.is_read() && read.paired {
                let (write, ran) = self.update_of(last);
                self.open_write(write, ran);
                return true;
            }
        }
        for thread in 0..threads {
            let &After { next: Next::Access(access), blocking, idle } = self.stands(thread) else { continue };
            if idle.is_some() || self.graph.threads[thread].len() >= self.max_steps {
                continue;
            }
            if access.part != 0 {
                self.tell_of_part(thread);
                return false;
            }
            let from = self.ways.len();
            if let Some(outcomes) = access.outcomes() {
                self.ways.extend((0..outcomes as u32).map(Way::Choose));
                self.offer(from, Kind::Next { thread });
                return true;
            }
            if access.kind == AccessKind::Store {
                self.open_store(thread, access);
                return true;
            }
            self.know(access.addr);
            self.list_sources(thread, &access, blocking);
            if self.ways.len() > from {
                self.offer(from, Kind::Next { thread });
                return true;
            }
        }
        false
    }

    /// An event of a thread that comes next.
    pub(super) fn event(&self, thread: usize, what: What, access: Access) -> Event {
        Event {
            thread: thread as u32,
            index: self.graph.threads[thread].len() as u32,
            stamp: self.graph.top,
            what,
            access,
            order: Order::Plain,
            value: 0,
            source: INIT,
            paired: false,
        }
    }

    /// Adds an event for good.
    pub(super) fn add(&mut self, event: Event, ran: Ran, at: usize) -> u32 {
        let id = self.graph.push(event, at, self.model);
        self.graph.keep(ran, &self.made);
        self.graph.top = self.graph.top.max(event.stamp + 1);
        // Of sc itself nothing else is admitted.
        if self.model != GraphModel::Sc && self.graph.sc[id as usize] {
            self.graph.sc[id as usize] = models::is_sc(&self.graph, id, &mut self.reach);
        }
        id
    }
}
