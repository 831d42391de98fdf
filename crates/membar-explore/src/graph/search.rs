//! Enumerates the consistent execution graphs of a program, each once.
//!
//! # Problem
//!
//! Given a program and a model, run one execution for each complete consistent execution graph, in memory that is
//! polynomial in the size of a graph.
//!
//! # Algorithm
//!
//! Truly stateless, optimal dynamic partial order reduction (TruSt). A graph is extended by the next event of the first thread that
//! has one:
//!
//! 1. A read: one branch for each write that it may read from.
//! 2. A write: one branch for each place in co. Then, for each read r of its address that is not in its past (po ∪ rf), the write
//!    *revisits* r: the events that were decided on after r and are not in the past of the write are deleted, and r reads from the
//!    write. So that no graph comes up twice, this is done only if r and the deleted events were all *maximal*: each read read the last write in
//!    co, each write was the last in co, among the events decided on before it and those in the past of the new write.
//!
//!    A read-modify-write whose source another one has read cannot stand beside that one; but its write may revisit it, or a read whose revisit deletes it.
//!    So it is made in the graph of that revisit, and only there.
//! 3. A choice: one branch for each outcome; the first is the maximal one.
//!
//! *Accesses that block* ([`crate::Waiting`]) are made only with values that let them. Where the last write in co blocks, one more branch
//! decides to wait: the access is made only with a write that is added later. Waiting is the maximal choice then. A write
//! that blocks a read that it revisits makes that one wait; this is of use only at the end of co.
//! Where events are deleted, a decision to wait counts only as long as it stands: not once the access has been made, nor where a later write
//! lets it be made and it has not been decided on again. A write that made a read wait is not deleted while that decision is kept.
//!
//! *Waiting loops*: a thread that has gone round without effect goes no further, because the round could be left out. If one of the reads of the round
//! missed a write that was there, the branch is given up: such a thread can no longer be freed by a revisit. At the end of an execution a
//! thread that waits for something which has come counts for nothing: the execution in which it looks later stands for
//! this one. One that waits for something which has not come waits forever.
//!
//! *Running the program.* Events are in an order that extends po ∪ rf; a revisited read moves to the end of it. A thread's next action depends on
//! nothing but what it has read, so the program is run along in that order and each access finds what the graph says. After each step memory holds the last write
//! in co. When the graph has changed, the steps that it does not share with what was run are taken back.
//!
//! # Invariants
//!
//! A frame's alternatives begin at the graph that has `depth` events. `stamp` is the order of decisions; a revisited read keeps
//! its own. The graph is consistent, but for the read of a read-modify-write whose write has not been added.
//!
//! # Guarantees
//!
//! Models that are prefix-closed, extensible and have acyclic po ∪ rf: every complete graph is visited exactly once (Kokologiannakis and
//! others, 2022). Waiting is a restriction of their treatment of blocked reads, which read the last write in co and stop: a decision to wait that ends is
//! the same read decided on later. That is not proved here: tests compare the number of graphs and their final states with enumeration, and with
//! the classes of dpor where accesses block. None was missing in 30,000 random programs; but where plain stores, not updates, make a thread wait, a
//! graph may be visited twice (about one program in 3,000).
//!
//! # Complexity
//!
//! Each event costs a search of the graph for each write to its address; each revisit a copy of it.
//!
//! # Deviations
//!
//! Blocked reads are decided on again instead of being revisited. Rounds of waiting loops that miss a write are not explored.
//!
//! # References
//!
//! Kokologiannakis, Marmanis, Gladstein, Vafeiadis: Truly stateless, optimal dynamic partial order reduction, POPL 2022.

use super::graph::{After, Event, Graph, INIT, Made, What};
use super::models::{self, Reach};
use crate::end::{End, is_stirred, unchanged};
use crate::set::{Many, Set};
use crate::{Awaited, Counts, Fault, FaultKind, Next, Observer, Program};
use membar_core::{Access, AccessKind, GraphModel, Order, Performed, WeakStep};
use std::sync::atomic::{AtomicBool, Ordering};

/// A part of the search: the graph that these alternatives lead to, and all alternatives there from this one on.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct GraphTask {
    path: Vec<u32>,
    next: u32,
}

/// The result of a task.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct GraphOutcome<T> {
    /// Counts of the runs made.
    pub counts: Counts,
    /// What was seen.
    pub part: T,
    /// What is left of it, to be done from the last one on.
    pub rest: Vec<GraphTask>,
}

/// A read's way to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    From(u32),
    /// From a write that another read-modify-write has read, this read being revisited.
    Instead(u32, u32),
    Wait,
}

/// Something with alternatives, at a graph of `depth` events.
struct Frame {
    depth: usize,
    /// How many have been taken.
    taken: u32,
    kind: Kind,
}

impl Frame {
    /// Whether an alternative may be left.
    fn may_have_more(&self) -> bool {
        let taken = self.taken as usize;
        match &self.kind {
            Kind::Read { ways, .. } => taken < ways.len(),
            Kind::Choice { outcomes, .. } => self.taken < *outcomes,
            Kind::Write(writing) => match &writing.revisits {
                Some(revisits) => taken < writing.places.len() + revisits.len(),
                None => true,
            },
            Kind::Revisit { places, .. } => taken < places.len(),
        }
    }
}

enum Kind {
    Read {
        thread: usize,
        ways: Vec<Way>,
    },
    Choice {
        thread: usize,
        outcomes: u32,
    },
    Write(Box<Writing>),
    /// A write revisits a read: the graph before that, and what it does in the new one.
    Revisit {
        saved: Box<Graph>,
        read: Box<Event>,
        by: Box<By>,
        places: Vec<usize>,
    },
}

/// The write that revisits.
#[derive(Clone, Copy)]
enum By {
    Write(Event),
    /// That of a read-modify-write which is to be made, from this read on.
    Update(Event),
}

/// A write that is to be added.
struct Writing {
    event: Event,
    /// Where.
    places: Vec<usize>,
    /// The reads to revisit, once they are known.
    revisits: Option<Vec<u32>>,
}

/// The search; see the module.
pub struct Graphs<P, O> {
    program: P,
    observer: O,
    model: GraphModel,
    races: bool,
    max_steps: usize,
    begin: Vec<After>,
    graph: Graph,
    frames: Vec<Frame>,
    /// The numbers of the steps that the program has made.
    made: Vec<u32>,
    serial: u32,
    counts: Counts,
    reach: Reach,
    #[allow(clippy::vec_box)] // they are large, and moved from list to list
    spare: Vec<Box<Graph>>,
    past: Vec<u32>,
    /// The path to a task is being taken: all this has been seen.
    again: bool,
}

/// How far an alternative has led.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Came {
    /// To a graph that can be extended.
    On,
    /// To one that is of no use.
    Nowhere,
    /// To a frame of its own, for a write that revisits a read.
    Revisits,
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
        while let Some(frame) = self.frames.pop() {
            self.recycle(frame);
        }
        self.graph.clear();
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

    /// The tasks that are left from this frame on, the deepest last.
    fn rest(&self, floor: usize) -> Vec<GraphTask> {
        let path: Vec<u32> = self.frames.iter().map(|frame| frame.taken.saturating_sub(1)).collect();
        let task = |at: usize| GraphTask { path: path[..at].to_vec(), next: self.frames[at].taken };
        (floor..self.frames.len()).filter(|&at| self.frames[at].may_have_more()).map(task).collect()
    }

    fn recycle(&mut self, frame: Frame) {
        if let Kind::Revisit { saved, .. } = frame.kind {
            self.spare.push(saved);
        }
    }

    /// All alternatives of the last frame have been taken.
    fn close(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        self.cut_to(frame.depth);
        if let Kind::Revisit { mut saved, .. } = frame.kind {
            std::mem::swap(&mut self.graph, &mut saved);
            self.spare.push(saved);
        }
    }

    fn cut_to(&mut self, depth: usize) {
        while self.graph.len() > depth {
            self.graph.pop();
        }
    }

    /// How the thread stands.
    #[inline]
    fn stands(&self, thread: usize) -> After {
        match self.graph.threads[thread].last() {
            None => self.begin[thread],
            Some(&last) => self.graph.event(last).after,
        }
    }

    /// Opens a frame for the next event, if there is one.
    fn open(&mut self) -> bool {
        if self.program.is_void() {
            return false;
        }
        let threads = self.begin.len();
        // The write of a read-modify-write comes right after its read.
        for thread in 0..threads {
            let Some(&last) = self.graph.threads[thread].last() else { continue };
            let read = *self.graph.event(last);
            if read.is_read() && read.paired {
                self.open_write(self.update_of(&read));
                return true;
            }
        }
        for thread in 0..threads {
            let After { next, blocking, idle } = self.stands(thread);
            let Next::Access(access) = next else { continue };
            if idle.is_some() || self.graph.threads[thread].len() >= self.max_steps {
                continue;
            }
            if access.part != 0 {
                self.tell_of_part(thread);
                return false;
            }
            let depth = self.graph.len();
            if let Some(outcomes) = access.outcomes() {
                let kind = Kind::Choice { thread, outcomes: outcomes as u32 };
                self.frames.push(Frame { depth, taken: 0, kind });
                return true;
            }
            if access.kind == AccessKind::Store {
                self.open_store(thread, access);
                return true;
            }
            self.know(access.addr);
            let ways = self.ways(thread, &access, blocking);
            if !ways.is_empty() {
                self.frames.push(Frame { depth, taken: 0, kind: Kind::Read { thread, ways } });
                return true;
            }
        }
        false
    }

    /// Graphs have whole addresses: what a part of one is, nobody knows here.
    #[cold]
    fn tell_of_part(&mut self, thread: usize) {
        let message =
            "accesses a part of what is one object to others; executions of the model with such accesses are not run";
        let graph = &self.graph;
        let fault = Fault { kind: FaultKind::Limit, ..Fault::error(message) };
        self.observer.weak_fault(thread, fault, &|| steps(graph));
    }

    /// Finds out about the initial value of an address.
    fn know(&mut self, addr: u32) {
        if self.graph.place(addr).and_then(|place| place.init).is_none() {
            self.sync();
            let value = self.program.memory(addr);
            self.graph.place_mut(addr).init = Some(value);
        }
    }

    /// An event of a thread that comes next.
    fn event(&self, thread: usize, what: What, access: Access) -> Event {
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
            after: After { next: Next::Done, blocking: None, idle: None },
            made: None,
            wrote: 0,
            since: self.graph.top,
        }
    }

    /// The ways for a thread's next access, which reads, to go on.
    fn ways(&mut self, thread: usize, access: &Access, blocking: Option<Awaited>) -> Vec<Way> {
        let addr = access.addr;
        let since = self.graph.waits_since(thread);
        let mut ways = Vec::new();
        // The last one first: that is what happens most.
        for at in (0..=self.graph.co(addr).len()).rev() {
            let source = if at == 0 { INIT } else { self.graph.co(addr)[at - 1] };
            let is_new = since.is_none_or(|since| source != INIT && self.graph.event(source).stamp > since);
            let value = self.graph.value(addr, source);
            if !is_new || blocking.is_some_and(|awaited| awaited.blocks(value)) {
                continue;
            }
            let read = self.read(thread, access, source);
            if at < self.graph.co(addr).len() && !self.is_admitted(read) {
                continue;
            }
            match self.rival(&read) {
                Some(rival) => {
                    // What is revisited deletes the rival, or is it.
                    let stamp = self.graph.event(rival).stamp;
                    let revisits = self.revisits(&read);
                    let deletes = |&read: &u32| self.graph.event(read).stamp <= stamp;
                    ways.extend(revisits.into_iter().filter(deletes).map(|read| Way::Instead(source, read)));
                }
                None => ways.push(Way::From(source)),
            }
        }
        let last = self.graph.value(addr, self.graph.last(addr));
        if !ways.is_empty() && blocking.is_some_and(|awaited| awaited.blocks(last)) {
            ways.push(Way::Wait);
        }
        ways
    }

    /// The read of another read-modify-write that writes right after what this one would.
    fn rival(&self, read: &Event) -> Option<u32> {
        if !read.access.writes_on(read.value) {
            return None;
        }
        self.graph.places[read.access.addr as usize].reads.iter().copied().find(|&other| {
            let other = self.graph.event(other);
            other.paired && other.source == read.source && other.thread != read.thread
        })
    }

    /// The thread's next access, reading from there.
    fn read(&self, thread: usize, access: &Access, source: u32) -> Event {
        let value = self.graph.value(access.addr, source);
        let order = access.order(access.writes_on(value));
        Event { order, value, source, ..self.event(thread, What::Read, *access) }
    }

    /// Whether the graph with one more event, not a write, is consistent.
    fn is_admitted(&mut self, event: Event) -> bool {
        let id = self.graph.push(event, 0, self.model);
        let admitted = models::admits(self.model, &self.graph, id, &mut self.reach);
        self.graph.pop();
        admitted
    }

    /// Where in co a write may stand, the last place first.
    fn places(&mut self, event: &Event) -> Vec<usize> {
        let addr = event.access.addr;
        let end = self.graph.co(addr).len();
        let mut places = Vec::new();
        for at in (0..=end).rev() {
            if !self.graph.is_gap(addr, at) {
                continue;
            }
            let id = self.graph.push(*event, at, self.model);
            if at == end || models::admits(self.model, &self.graph, id, &mut self.reach) {
                places.push(at);
            }
            self.graph.pop();
        }
        places
    }

    /// The write of a read-modify-write whose read is the last event of its thread.
    fn update_of(&self, read: &Event) -> Event {
        Event {
            value: read.wrote,
            order: read.order,
            paired: true,
            after: read.after,
            ..self.event(read.thread as usize, What::Write, read.access)
        }
    }

    fn open_store(&mut self, thread: usize, access: Access) {
        let addr = access.addr;
        self.know(addr);
        self.sync();
        let last = self.graph.last(addr);
        let (found, dead) = (self.graph.value(addr, last), self.is_dead(last));
        let (performed, made) = self.make(thread, found, dead);
        let (value, order) = (performed.new, performed.order());
        self.program.leave(addr, value);
        let event = Event {
            value,
            order,
            after: stand(&self.program, thread),
            made: Some(made),
            access: performed.access,
            ..self.event(thread, What::Write, access)
        };
        self.open_write(event);
    }

    fn open_write(&mut self, event: Event) {
        let places = if event.paired { self.place_of_update(&event) } else { self.places(&event) };
        let depth = self.graph.len();
        let kind = Kind::Write(Box::new(Writing { event, places, revisits: None }));
        self.frames.push(Frame { depth, taken: 0, kind });
    }

    /// The write of a read-modify-write has one place, unless that is taken.
    fn place_of_update(&mut self, event: &Event) -> Vec<usize> {
        let addr = event.access.addr;
        let read = self.graph.threads[event.thread as usize].last().map_or(INIT, |&read| self.graph.event(read).source);
        let at = self.graph.position(addr, read);
        if !self.graph.is_gap(addr, at) {
            return Vec::new();
        }
        let id = self.graph.push(*event, at, self.model);
        let admitted = models::admits(self.model, &self.graph, id, &mut self.reach);
        self.graph.pop();
        if admitted { vec![at] } else { Vec::new() }
    }

    /// Whether what this write left there has come to its end.
    fn is_dead(&self, source: u32) -> bool {
        source != INIT && self.graph.event(source).access.c11.ends()
    }

    /// Lets the program make a step, which finds this.
    fn make(&mut self, thread: usize, found: u64, dead: bool) -> (Performed, Made) {
        let performed = self.program.step_finding(thread, found, dead);
        self.serial += 1;
        self.made.push(self.serial);
        self.counts.events += u64::from(!self.again);
        (performed, Made { serial: self.serial, found, dead, left: performed.new })
    }

    /// Takes the program to where the graph is.
    fn sync(&mut self) {
        let steps = &self.graph.steps;
        let same = |(&id, &serial): (&u32, &u32)| self.graph.event(id).made.is_some_and(|made| made.serial == serial);
        let shared = steps.iter().zip(&self.made).take_while(|&pair| same(pair)).count();
        for _ in shared..self.made.len() {
            self.program.undo();
        }
        self.made.truncate(shared);
        for at in shared..steps.len() {
            let event = self.graph.event(self.graph.steps[at]);
            let Some(made) = event.made else { continue };
            if event.what == What::Choice {
                self.program.choose(event.thread as usize, event.value as u32);
            } else {
                self.program.step_finding(event.thread as usize, made.found, made.dead);
                self.program.leave(event.access.addr, made.left);
            }
            self.made.push(made.serial);
        }
    }

    /// Takes the next alternative of the last frame, if there is one.
    fn take(&mut self) -> Option<Came> {
        let frame = self.frames.last_mut()?;
        let (depth, taken) = (frame.depth, frame.taken as usize);
        frame.taken += 1;
        match &frame.kind {
            Kind::Read { thread, ways } => {
                let (thread, way) = (*thread, *ways.get(taken)?);
                self.cut_to(depth);
                Some(self.take_read(thread, way))
            }
            &Kind::Choice { thread, outcomes } => {
                if taken as u32 >= outcomes {
                    return None;
                }
                self.cut_to(depth);
                self.take_choice(thread, taken as u32);
                Some(Came::On)
            }
            Kind::Write(writing) => {
                if let Some(&at) = writing.places.get(taken) {
                    let event = writing.event;
                    self.cut_to(depth);
                    self.take_write(event, at);
                    return Some(Came::On);
                }
                let revisit = taken - writing.places.len();
                if writing.revisits.is_none() {
                    let event = writing.event;
                    self.cut_to(depth);
                    let revisits = self.revisits(&event);
                    let Some(Frame { kind: Kind::Write(writing), .. }) = self.frames.last_mut() else { return None };
                    writing.revisits = Some(revisits);
                }
                let Some(Frame { kind: Kind::Write(writing), .. }) = self.frames.last() else { return None };
                let read = *writing.revisits.as_ref()?.get(revisit)?;
                let event = writing.event;
                self.cut_to(depth);
                self.revisit(By::Write(event), read);
                Some(Came::Revisits)
            }
            Kind::Revisit { read, by, places, .. } => {
                let (&at, read, by) = (places.get(taken)?, **read, **by);
                self.cut_to(depth);
                Some(self.take_revisit(read, by, at))
            }
        }
    }

    /// Adds an event for good.
    fn add(&mut self, event: Event, at: usize) -> u32 {
        let id = self.graph.push(event, at, self.model);
        self.graph.top = self.graph.top.max(event.stamp + 1);
        if self.graph.sc[id as usize] {
            self.graph.sc[id as usize] = models::is_sc(&self.graph, id, &mut self.reach);
        }
        id
    }

    fn take_choice(&mut self, thread: usize, outcome: u32) {
        self.sync();
        let Next::Access(access) = self.stands(thread).next else { return };
        self.program.choose(thread, outcome);
        self.serial += 1;
        self.made.push(self.serial);
        let made = Made { serial: self.serial, found: 0, dead: false, left: 0 };
        let (value, after) = (u64::from(outcome), stand(&self.program, thread));
        let event = Event { value, after, made: Some(made), ..self.event(thread, What::Choice, access) };
        self.add(event, 0);
        self.look(thread);
    }

    fn take_read(&mut self, thread: usize, way: Way) -> Came {
        let Next::Access(access) = self.stands(thread).next else { return Came::Nowhere };
        match way {
            Way::From(source) => self.make_read(self.read(thread, &access, source)),
            Way::Instead(source, revisited) => {
                let update = self.read(thread, &access, source);
                self.revisit(By::Update(update), revisited);
                Came::Revisits
            }
            Way::Wait => {
                self.add(self.event(thread, What::Wait, access), 0);
                Came::On
            }
        }
    }

    /// Makes a read and adds it.
    fn make_read(&mut self, event: Event) -> Came {
        let (thread, addr, source) = (event.thread as usize, event.access.addr, event.source);
        self.sync();
        let (performed, made) = self.make(thread, event.value, self.is_dead(source));
        let last = self.graph.last(addr);
        let is_last = performed.writes && source == last;
        let left = if is_last { performed.new } else { self.graph.value(addr, last) };
        self.program.leave(addr, left);
        let after = stand(&self.program, thread);
        let event = Event {
            order: performed.order(),
            paired: performed.writes,
            wrote: performed.new,
            after,
            made: Some(Made { left, ..made }),
            ..event
        };
        let id = self.add(event, 0);
        self.look(thread);
        self.race(id);
        if self.is_in_vain(&event) { Came::Nowhere } else { Came::On }
    }

    /// Whether the thread has gone round a waiting loop in which it missed a write that was there.
    fn is_in_vain(&self, event: &Event) -> bool {
        let Some(reads) = event.after.idle else { return false };
        let events = self.graph.threads[event.thread as usize].iter().rev();
        events.map(|&id| self.graph.event(id)).filter(|event| event.is_read()).take(reads as usize).any(|read| {
            let addr = read.access.addr;
            let later = &self.graph.co(addr)[self.graph.position(addr, read.source)..];
            later.iter().any(|&write| self.graph.event(write).stamp < read.stamp)
        })
    }

    fn take_write(&mut self, mut event: Event, at: usize) {
        let addr = event.access.addr;
        if let Some(made) = &mut event.made {
            let co = self.graph.co(addr);
            let dead = at > 0 && self.is_dead(co[at - 1]);
            let left = if at == co.len() { event.value } else { self.graph.value(addr, self.graph.last(addr)) };
            if (dead, left) != (made.dead, made.left) {
                self.serial += 1;
                let again = dead != made.dead;
                (made.serial, made.dead, made.left) = (self.serial, dead, left);
                let id = self.add(event, at);
                if again {
                    self.sync();
                    self.graph.events[id as usize].after = stand(&self.program, event.thread as usize);
                }
                self.look(event.thread as usize);
                return self.race(id);
            }
        }
        let id = self.add(event, at);
        if !event.paired {
            self.look(event.thread as usize);
        }
        self.race(id);
    }

    /// The past of an event that is not in the graph.
    fn past_of(&self, event: &Event, past: &mut Vec<u32>) {
        self.graph.past_of_next(event.thread as usize, past);
        if event.is_read() && event.source != INIT {
            past.iter_mut().zip(self.graph.past(event.source)).for_each(|(past, &more)| *past = (*past).max(more));
        }
    }

    /// The reads that a write, or a read-modify-write, which is not in the graph, revisits.
    fn revisits(&mut self, write: &Event) -> Vec<u32> {
        let mut past = std::mem::take(&mut self.past);
        self.past_of(write, &mut past);
        let reads = &self.graph.places[write.access.addr as usize].reads;
        let in_past = |event: &Event| past[event.thread as usize] > event.index;
        let revisits = reads.iter().copied().filter(|&read| {
            let event = self.graph.event(read);
            if event.thread == write.thread || in_past(event) {
                return false;
            }
            let deleted = |other: &Event| other.stamp >= event.stamp && (other.what == What::Wait || !in_past(other));
            let mut ids = (0..self.graph.len() as u32).filter(|&id| deleted(self.graph.event(id)));
            ids.all(|id| self.is_maximal(id, &past))
        });
        let revisits = revisits.collect();
        self.past = past;
        revisits
    }

    /// Whether the event is the one that is chosen first, given those decided on before it and this past.
    fn is_maximal(&self, id: u32, past: &[u32]) -> bool {
        let graph = &self.graph;
        let event = graph.event(id);
        let addr = event.access.addr;
        let known = |id: u32| {
            let other = graph.event(id);
            other.stamp <= event.stamp || past[other.thread as usize] > other.index
        };
        match event.what {
            What::Choice => event.value == 0,
            What::Read => {
                let later = &graph.co(addr)[graph.position(addr, event.source)..];
                (event.source == INIT || known(event.source)) && !later.iter().any(|&write| known(write))
            }
            What::Write => {
                let later = &graph.co(addr)[graph.position(addr, id)..];
                let read = |&&read: &&u32| graph.event(read).source == id;
                let reads = &graph.places[addr as usize].reads;
                !later.iter().any(|&write| known(write))
                    && !reads.iter().chain(graph.waits.iter().flatten()).filter(read).any(|&read| known(read))
            }
            // The access has been made since: then that is what counts.
            What::Wait if graph.threads[event.thread as usize].len() > event.index as usize => true,
            What::Wait => {
                let last = graph.co(addr).iter().rev().copied().find(|&write| known(write)).unwrap_or(INIT);
                let Some(awaited) = self.condition(event) else { return false };
                // It may be made by now, and has not been decided on again.
                let lets = |&write: &u32| {
                    let write = graph.event(write);
                    write.stamp > event.since && !awaited.blocks(write.value)
                };
                awaited.blocks(graph.value(addr, last)) || graph.co(addr).iter().any(lets)
            }
        }
    }

    /// The condition that an access, which may block, waits for.
    fn condition(&self, event: &Event) -> Option<Awaited> {
        let thread = event.thread as usize;
        match (event.index as usize).checked_sub(1) {
            None => self.begin[thread].blocking,
            Some(before) => self.graph.event(self.graph.threads[thread][before]).after.blocking,
        }
    }

    /// Opens a frame in which the write revisits the read.
    fn revisit(&mut self, by: By, read: u32) {
        let mut past = std::mem::take(&mut self.past);
        let (By::Write(mut write) | By::Update(mut write)) = by;
        self.past_of(&write, &mut past);
        let read = *self.graph.event(read);
        let condition = self.condition(&read);
        let threads = self.begin.len();
        let mut graph = self.spare.pop().unwrap_or_else(|| Box::new(Graph::new(threads)));
        graph.clear();
        std::mem::swap(&mut self.graph, &mut graph);
        let saved = graph;
        for (addr, place) in saved.places.iter().enumerate() {
            if place.init.is_some() {
                self.graph.place_mut(addr as u32).init = place.init;
            }
        }
        let mut number = vec![INIT; saved.len()];
        for (id, event) in saved.events.iter().enumerate() {
            let in_past = event.what != What::Wait && past[event.thread as usize] > event.index;
            if event.stamp >= read.stamp && !in_past {
                continue;
            }
            let mut event = *event;
            let mut at = 0;
            if matches!(event.what, What::Read | What::Wait) && event.source != INIT {
                event.source = number[event.source as usize];
            }
            if event.is_write() {
                let co = saved.co(event.access.addr).iter().take_while(|&&write| write as usize != id);
                at = co.filter(|&&write| number[write as usize] != INIT).count();
            }
            number[id] = self.add(event, at);
        }
        self.past = past;
        let addr = write.access.addr;
        if write.is_read() && write.source != INIT {
            write.source = number[write.source as usize];
        }
        let (by, places) = match by {
            // Where it stands is decided when it is made.
            By::Update(_) => (By::Update(write), vec![0]),
            By::Write(_) => {
                let mut places = if write.paired { self.place_of_update(&write) } else { self.places(&write) };
                if condition.is_some_and(|awaited| awaited.blocks(write.value)) {
                    let end = self.graph.co(addr).len();
                    places.retain(|&at| at == end);
                }
                (By::Write(write), places)
            }
        };
        let depth = self.graph.len();
        self.frames.push(Frame {
            depth,
            taken: 0,
            kind: Kind::Revisit { saved, read: Box::new(read), by: Box::new(by), places },
        });
    }

    /// The write, which stands there, is what the read reads from.
    fn take_revisit(&mut self, read: Event, by: By, at: usize) -> Came {
        let write = match by {
            By::Write(write) => {
                self.take_write(write, at);
                write
            }
            By::Update(update) => match self.make_update(update) {
                Some(write) => write,
                None => return Came::Nowhere,
            },
        };
        let thread = read.thread as usize;
        let source = self.graph.len() as u32 - 1;
        let After { next: Next::Access(access), blocking, .. } = self.stands(thread) else { return Came::Nowhere };
        if blocking.is_some_and(|awaited| awaited.blocks(write.value)) {
            // Of use only where nothing is after it.
            if self.graph.last(write.access.addr) != source {
                return Came::Nowhere;
            }
            let since = self.graph.event(source).stamp;
            let wait = Event { stamp: read.stamp, source, since, ..self.event(thread, What::Wait, access) };
            self.add(wait, 0);
            return Came::On;
        }
        let event = Event { stamp: read.stamp, ..self.read(thread, &access, source) };
        if self.is_admitted(event) { self.make_read(event) } else { Came::Nowhere }
    }

    /// Makes a read-modify-write as a whole: the write.
    fn make_update(&mut self, update: Event) -> Option<Event> {
        if !self.is_admitted(update) || self.make_read(update) != Came::On {
            return None;
        }
        let &read = self.graph.threads[update.thread as usize].last()?;
        let read = *self.graph.event(read);
        if !read.paired {
            return None;
        }
        let write = self.update_of(&read);
        let at = *self.place_of_update(&write).first()?;
        self.take_write(write, at);
        Some(write)
    }

    /// Tells of a thread that cannot continue.
    fn look(&mut self, thread: usize) {
        if self.again || self.stands(thread).next != Next::Fault {
            return;
        }
        self.sync();
        let (fault, graph) = (self.program.fault(thread), &self.graph);
        self.observer.weak_fault(thread, fault, &|| steps(graph));
    }

    /// Looks for data races of the event.
    fn race(&mut self, id: u32) {
        if !self.races || self.again {
            return;
        }
        let (graph, event) = (&self.graph, self.graph.event(id));
        let place = &graph.places[event.access.addr as usize];
        let mut found = None;
        for &other in place.co.iter().chain(&place.reads) {
            let earlier = graph.event(other);
            if earlier.thread != event.thread
                && conflict(earlier, event)
                && !models::c11::happens_before(graph, other, id)
            {
                found = Some(earlier.access.site);
                break;
            }
        }
        if let Some(earlier) = found {
            let site = event.access.site;
            self.observer.weak_race((earlier.min(site), earlier.max(site)), &|| steps(graph));
        }
    }

    /// No event can be added.
    fn end(&mut self) {
        if self.program.is_void() {
            return;
        }
        self.sync();
        let (mut waiting, mut cut, mut dropped) = (Many::NONE, false, false);
        for thread in 0..self.begin.len() {
            match self.stands(thread) {
                After { next: Next::Long, .. } => cut = true,
                After { next: Next::Access(access), blocking, idle } => {
                    if idle.is_some() {
                        dropped |= !unchanged(&self.program, self.program.waiting(thread).round);
                    } else if let Some(awaited) = blocking {
                        let last = self.graph.last(access.addr);
                        dropped |= self.graph.place(access.addr).is_some_and(|place| place.init.is_some())
                            && !awaited.blocks(self.graph.value(access.addr, last));
                    } else {
                        cut = true;
                    }
                    waiting |= Many::one(thread);
                }
                After { next: Next::Done | Next::Fault, .. } => {}
            }
        }
        let sc = self.graph.sc.last().is_none_or(|&sc| sc);
        let graph = &self.graph;
        if cut {
            self.counts.cut += 1;
            self.counts.executions += 1;
            return self.observer.weak_end(End::Cut { period: None }, sc, &|| steps(graph));
        }
        if dropped || is_stirred(&self.program, waiting) {
            self.counts.blocked += 1;
            return;
        }
        let end = End::waiting(&self.program, waiting);
        if end == End::Dropped {
            self.counts.dropped += 1;
        } else {
            self.counts.executions += 1;
            self.counts.not_sc += u64::from(!sc);
        }
        self.observer.weak_end(end, sc, &|| steps(graph));
    }
}

/// How a thread of the program stands.
fn stand(program: &impl Program, thread: usize) -> After {
    let next = program.next(thread);
    let waiting = program.waiting(thread);
    let mut after = After { next, blocking: None, idle: None };
    if waiting.blocking {
        after.blocking = waiting.round.get(waiting.repeated).copied();
    } else if !waiting.round.is_empty() {
        after.idle = Some(if waiting.parked { 0 } else { waiting.round.len() as u32 });
    }
    after
}

/// Whether two accesses to one address race if nothing orders them.
fn conflict(one: &Event, other: &Event) -> bool {
    let departs = |event: &Event| event.access.c11.meets() && event.is_read();
    let sync = |event: &Event| event.access.c11.is_fresh() && event.order.is_atomic();
    let plain = |event: &Event| !event.order.is_atomic();
    let life = |event: &Event| event.access.c11.is_fresh() && plain(event);
    if departs(one) || departs(other) {
        return false;
    }
    if sync(one) || sync(other) {
        return life(one) || life(other);
    }
    (one.is_write() || other.is_write() || life(one) || life(other)) && (plain(one) || plain(other))
}

/// The execution, as steps.
fn steps(graph: &Graph) -> Vec<WeakStep> {
    let step = |&id: &u32| {
        let event = graph.event(id);
        let addr = event.access.addr;
        let behind = |from: usize| graph.co(addr)[from..].iter().filter(|&&write| write < id).count() as u32;
        let (choice, behind) = match event.what {
            What::Read => (None, behind(graph.position(addr, event.source))),
            What::Write => (None, behind(graph.position(addr, id))),
            What::Choice | What::Wait => (Some(event.value), 0),
        };
        WeakStep { thread: event.thread, choice, behind }
    };
    graph.steps.iter().map(step).collect()
}
