//! From a violation as a pair of steps to what people need: the cycle, the execution, the fences.
//!
//! # Problem
//!
//! A monitor says that on this SC schedule the access e could overtake the store `last`. Show the execution under TSO or
//! PSO that is not SC, why it is not, and what would forbid it.
//!
//! # Algorithm
//!
//! The schedule is run again. Of its events only those that happen before `prev`, the access just before e in its thread,
//! matter: with e they are the execution that the proof in `membar-monitor/src/class.rs` builds. If accesses have some bytes of an address in
//! common and not others, the events that matter, and those that come after e, are what `membar-monitor/src/bytes.rs` says; addresses below are bytes then.
//!
//! * *Order*: the events are sorted along rhb ∪ {e → last}, each as early as in the schedule otherwise. That is the order
//!   in which loads are made and stores reach memory. That it exists is checked here; a report for which it does not is
//!   not confirmed.
//! * *Run*: the order as steps of the machine. Threads issue their accesses in program order, stores where the schedule has
//!   them. So `last` is in its buffer when e is made: only what comes after `last` in rhb has to wait for it, and nothing
//!   before `last` in its thread does.
//! * *Cycle*: a shortest cycle of happens-before through e → last. All other edges go forward in the schedule, so one
//!   pass over the events finds the shortest path; of two equally long ones the one with fewer fences wins.
//! * *Fences*: every program-order edge of the cycle that the model does not keep. With a barrier at each of them all edges
//!   of the cycle are kept, and the execution is impossible. (Other cycles may need other fences.)
//!
//! Under C11 there is no machine: the run is the SC execution with e at its end, which finds what was there before `last`. Instead of
//! fences there are memory orders ([`Explanation::orders`]).
//!
//! # Guarantees
//!
//! Nothing is explained that has no order; others check whether the run is possible and not SC
//! ([`Explanation::steps`], [`Explanation::claims`]). With all fences the cycle is one of orders that the model keeps.
//!
//! # Complexity
//!
//! Near linear in the length of the schedule; under PSO a barrier costs as much as there are addresses in buffers.

use crate::seen::Found;
use membar_core::{Access, AccessKind, Barrier, Claim, MachineStep, Order, Performed, Relation, Relaxation};
use membar_explore::{Next, Program};
use membar_monitor::BytesMonitor;
use membar_monitor::c11::hb::HappensBefore;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// An explained violation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The events of the execution: those of the SC schedule that matter, in its order, and last the access that
    /// overtakes.
    pub events: Vec<Event>,
    /// The store that is delayed, an index into `events`.
    pub store: usize,
    /// The cycle: each link's target is the next one's source, the last one's the first one's. It begins at the access
    /// that overtakes.
    pub cycle: Vec<Link>,
    /// The execution, step by step.
    pub run: Vec<RunStep>,
    /// Where barriers make it impossible.
    pub fences: Vec<Fence>,
    /// Under C11: memory orders that make it impossible, of these events.
    pub orders: Vec<(usize, Order)>,
    /// Under C11: writes and reads of them by other threads that they happen before.
    pub ordered: Vec<(usize, usize)>,
}

impl Explanation {
    /// The execution as steps of the machine, to be run again by somebody else.
    pub fn steps(&self) -> Vec<MachineStep> {
        let step = |step: &RunStep| match *step {
            RunStep::Issue(i) => match self.events[i] {
                Event { thread, access, read: Some(outcome), .. } if access.outcomes().is_some() => {
                    MachineStep::Choose(thread, outcome)
                }
                Event { thread, .. } => MachineStep::Issue(thread),
            },
            RunStep::Commit(i) => {
                let Event { thread, access, .. } = self.events[i];
                MachineStep::Commit(thread, access.addr, access.part)
            }
        };
        self.run.iter().map(step).collect()
    }

    /// The claims about the execution.
    pub fn claims(&self) -> Vec<Claim> {
        let claim = |event: &Event| Claim { thread: event.thread, site: event.access.site, read: event.read };
        self.events.iter().map(claim).collect()
    }
}

/// An event of the execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Which step of the schedule it is.
    pub step: u32,
    /// The thread.
    pub thread: u32,
    /// The access.
    pub access: Access,
    /// The value read, of its bytes, if it reads.
    pub read: Option<u64>,
    /// The value written, of its bytes, if it writes. The value that the overtaking access writes is not known here if it is computed.
    pub write: Option<u64>,
}

/// An edge of the cycle, between two indices into the events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The earlier event.
    pub from: usize,
    /// The later event.
    pub to: usize,
    /// Why: [`Relation::Ppo`] if the model keeps this program order, [`Relation::Po`] if it does not.
    pub relation: Relation,
}

impl Link {
    fn unkept(self) -> Link {
        match self.relation {
            Relation::Ppo => Link { relation: Relation::Po, ..self },
            _ => self,
        }
    }
}

/// Memory orders that make a cycle impossible which begins at the access that overtakes. If threads only pass on what they read,
/// each write of that has to release and each read has to acquire: then what is overtaken happens before what overtakes. Otherwise
/// everything has to be seq_cst.
fn orders(events: &[Event], cycle: &[Link]) -> Vec<(usize, Order)> {
    let crosses = |link: &&Link| events[link.from].thread != events[link.to].thread;
    let Some((_, rest)) = cycle.split_first() else { return Vec::new() };
    let passed: Vec<&Link> = rest.iter().filter(crosses).collect();
    let mut wanted: Vec<(usize, Order)> = if passed.iter().all(|link| link.relation == Relation::Rf) {
        passed.iter().flat_map(|link| [(link.from, Order::Release), (link.to, Order::Acquire)]).collect()
    } else {
        cycle.iter().map(|link| (link.from, Order::SeqCst)).collect()
    };
    wanted.retain(|&(event, _)| !events[event].access.c11.is_fresh());
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

/// Which reads of other threads' writes are ordered by happens-before: `kept` are the steps that the events are, but for the last.
fn ordered(steps: &[Performed], kept: &[usize], graph: &Graph) -> Vec<(usize, usize)> {
    let threads = steps.iter().map(|step| step.thread as usize + 1).max().unwrap_or(0);
    let mut hb = HappensBefore::new(threads, false);
    let mut index: Vec<u32> = Vec::new();
    let mut ordered = Vec::new();
    for (event, &step) in kept.iter().enumerate() {
        let step = &steps[step];
        hb.push(step);
        let now = hb.now(step.thread as usize);
        index.push(now[step.thread as usize]);
        let source = graph.sources[event].first().copied().flatten();
        if let Some(source) = source.filter(|_| step.access.kind.reads())
            && graph.events[source].thread != step.thread
            && now[graph.events[source].thread as usize] >= index[source]
        {
            ordered.push((source, event));
        }
    }
    ordered
}

fn program_order(kept: bool) -> Relation {
    if kept { Relation::Ppo } else { Relation::Po }
}

/// A step of the machine with store buffers, about an index into the events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunStep {
    /// The thread makes the access; a store goes into its buffer.
    Issue(usize),
    /// The store reaches memory.
    Commit(usize),
}

/// A place for a barrier: between two events of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fence {
    /// The earlier event, a store.
    pub after: usize,
    /// The later one.
    pub before: usize,
    /// The weakest barrier that is enough.
    pub barrier: Barrier,
}

/// Explains a violation. `program` is at its beginning, and is there again afterwards. `None` if the violation cannot be
/// confirmed.
pub fn explain<P: Program>(program: &mut P, found: &Found) -> Option<Explanation> {
    let steps: Vec<Performed> = found.schedule.0.iter().map(|&step| program.repeat(step)).collect();
    let next = program.next(found.thread as usize);
    for _ in &steps {
        program.undo();
    }
    let next = match next {
        Next::Access(access) => Some(access),
        _ => None,
    };
    explain_run(&steps, next, found)
}

/// Explains a violation, given the steps of its schedule and what its thread would do next.
pub fn explain_run(steps: &[Performed], next: Option<Access>, found: &Found) -> Option<Explanation> {
    let (before, access) = if found.tried {
        (steps, next?)
    } else {
        let (last, before) = steps.split_last()?;
        (before, last.access)
    };
    let overtaken = before.get(found.store as usize)?;
    if overtaken.access.addr != access.addr || !overtaken.writes || overtaken.thread == found.thread {
        return None;
    }
    let placed = place(before, access, found)?;
    let Placed { kept, value, .. } = &placed;
    let store = kept.iter().position(|&i| i == found.store as usize)?;
    let mut events: Vec<Event> = kept.iter().map(|&i| Event::new(i, &before[i])).collect();
    let read = value.filter(|_| access.kind.reads()).map(|value| access.part_of(value));
    let write = match access.kind {
        AccessKind::Store if !found.tried => steps.last().map(|step| access.part_of(step.new)),
        _ => None,
    };
    events.push(Event { step: before.len() as u32, thread: found.thread, access, read, write });

    let Some(machine) = found.model.machine() else {
        // Every program order may matter, and none is one that the model keeps by itself.
        let graph = Graph::new(events, store, Relaxation::Pso, &placed);
        let cycle = graph.cycle()?;
        let cycle: Vec<Link> = cycle.into_iter().map(Link::unkept).collect();
        let orders = orders(&graph.events, &cycle);
        let mut run = Vec::new();
        for (i, event) in graph.events.iter().enumerate() {
            run.push(RunStep::Issue(i));
            if event.access.kind == AccessKind::Store {
                run.push(RunStep::Commit(i));
            }
        }
        let ordered = ordered(before, kept, &graph);
        return Some(Explanation { events: graph.events, store, cycle, run, fences: Vec::new(), orders, ordered });
    };
    let graph = Graph::new(events, store, machine, &placed);
    let order = graph.order()?;
    let run = graph.run(&order);
    let cycle = graph.cycle()?;
    let fences = graph.fences(&cycle);
    Some(Explanation { events: graph.events, store, cycle, run, fences, orders: Vec::new(), ordered: Vec::new() })
}

impl Event {
    /// An access as it was performed on SC.
    pub fn new(step: usize, performed: &Performed) -> Event {
        Event {
            step: step as u32,
            thread: performed.thread,
            access: performed.access,
            read: performed.access.kind.reads().then(|| performed.access.part_of(performed.old)),
            write: performed.writes.then(|| performed.access.part_of(performed.new)),
        }
    }
}

/// Where the access that overtakes is among the steps before it.
struct Placed {
    /// Those of them that matter.
    kept: Vec<usize>,
    /// Of each of these, whether it comes after the access if they conflict.
    after: Vec<bool>,
    /// Whether bytes of an address are told apart.
    bytes: bool,
    /// The value that the access finds at its address, if that is known, and whether it writes.
    value: Option<u64>,
    writes: bool,
}

fn place(before: &[Performed], access: Access, found: &Found) -> Option<Placed> {
    let parts = access.part != 0 || before.iter().any(|step| step.access.part != 0);
    if let Some(machine) = found.model.machine().filter(|_| parts) {
        let threads = before.iter().map(|step| step.thread).chain([found.thread]).max()? as usize + 1;
        let mut monitor = BytesMonitor::new(machine, threads);
        for step in before {
            monitor.take(step).ok()?;
        }
        let placement = monitor.placement(found.thread as usize, access, Some(found.store))?;
        let after = placement.kept.iter().map(|step| placement.after.contains(step)).collect();
        let kept = placement.kept.iter().map(|&step| step as usize).collect();
        return Some(Placed { kept, after, bytes: true, value: placement.found, writes: placement.writes });
    }
    let past = past_of_thread(before, found.thread)?;
    let kept: Vec<usize> = (0..before.len()).filter(|&i| past[i]).collect();
    let after = kept.iter().map(|&i| i >= found.store as usize).collect();
    let value = before[found.store as usize].old;
    Some(Placed { kept, after, bytes: false, value: Some(value), writes: access.writes_on(value) })
}

/// Which steps happen before the thread's last step, or are it.
fn past_of_thread(steps: &[Performed], thread: u32) -> Option<Vec<bool>> {
    let last = steps.iter().rposition(|step| step.thread == thread)?;
    // Backwards: everything before something in the past is in the past. Of each thread and address it is enough to know
    // whether something later is.
    let (mut threads, mut reads, mut writes) = (FxHashSet::default(), FxHashSet::default(), FxHashSet::default());
    let mut past = vec![false; steps.len()];
    for i in (0..=last).rev() {
        let (step, addr) = (&steps[i], steps[i].access.addr);
        let conflict = writes.contains(&addr) || (step.writes && reads.contains(&addr));
        if i == last || threads.contains(&step.thread) || conflict {
            past[i] = true;
            threads.insert(step.thread);
            (if step.writes { &mut writes } else { &mut reads }).insert(addr);
        }
    }
    Some(past)
}

/// The execution: events in the order of the schedule, the last of them the one that overtakes.
struct Graph {
    events: Vec<Event>,
    store: usize,
    model: Relaxation,
    /// For each event, the last event of its thread up to itself that has a full barrier before it, and a store barrier or
    /// stronger.
    full: Vec<Option<usize>>,
    stored: Vec<Option<usize>>,
    /// For each event of the schedule, the last write before it to each of its addresses.
    sources: Vec<Vec<Option<usize>>>,
    /// Of each event but the last, whether it comes after that, if they conflict.
    after: Vec<bool>,
    /// Whether the last one writes.
    last_writes: bool,
    /// Whether each byte is an address.
    bytes: bool,
}

/// An address, or a byte of one.
type Place = (u32, u8);

impl Graph {
    fn new(events: Vec<Event>, store: usize, model: Relaxation, placed: &Placed) -> Graph {
        let mut graph = Graph {
            store,
            model,
            full: Vec::new(),
            stored: Vec::new(),
            sources: Vec::new(),
            after: placed.after.clone(),
            last_writes: placed.writes,
            bytes: placed.bytes,
            events,
        };
        let (mut full, mut stored) = (FxHashMap::default(), FxHashMap::default());
        let mut last = FxHashMap::<Place, usize>::default();
        for i in 0..graph.events.len() {
            let Event { thread, access, .. } = graph.events[i];
            if access.barrier == Barrier::Full {
                full.insert(thread, i);
            }
            if access.barrier != Barrier::None {
                stored.insert(thread, i);
            }
            graph.full.push(full.get(&thread).copied());
            graph.stored.push(stored.get(&thread).copied());
            graph.sources.push(graph.places(i).map(|place| last.get(&place).copied()).collect());
            if graph.writes(i) {
                last.extend(graph.places(i).map(|place| (place, i)));
            }
        }
        graph
    }

    /// The addresses that an event accesses.
    fn places(&self, i: usize) -> impl Iterator<Item = Place> + use<> {
        let access = self.events[i].access;
        let bytes = if self.bytes { access.bytes() } else { 0..1 };
        bytes.map(move |byte| (access.addr, byte))
    }

    fn accesses(&self, i: usize, (addr, byte): Place) -> bool {
        let access = &self.events[i].access;
        access.addr == addr && (!self.bytes || access.bytes().contains(&byte))
    }

    /// The write that comes before the overtaking access at an address of it, in the order of writes; none if it finds one of its
    /// own thread there that has not reached memory.
    fn before(&self, place: Place) -> Option<usize> {
        let own = |i: usize| self.events[i].thread == self.events[self.overtaking()].thread;
        let mut writes = (0..self.overtaking()).rev().filter(|&i| self.accesses(i, place) && self.writes(i));
        writes.find(|&i| !self.after[i] || self.bytes && own(i)).filter(|&i| !self.after[i])
    }

    /// If the overtaking access writes: events that only read this address of it, and that it comes after.
    fn reads_before(&self, place: Place) -> impl Iterator<Item = usize> + '_ {
        let reads = move |&i: &usize| {
            let source = || self.places(i).position(|at| at == place).and_then(|at| self.sources[i][at]);
            self.accesses(i, place) && !self.writes(i) && source().is_none_or(|source| !self.after[source])
        };
        (0..self.overtaking()).filter(move |_| self.last_writes).filter(reads)
    }

    fn overtaking(&self) -> usize {
        self.events.len() - 1
    }

    fn kind(&self, i: usize) -> AccessKind {
        self.events[i].access.kind
    }

    fn writes(&self, i: usize) -> bool {
        if i == self.overtaking() { self.last_writes } else { self.events[i].write.is_some() }
    }

    /// Whether the model keeps the order of these two of one thread, by themselves.
    fn keeps(&self, i: usize, j: usize) -> bool {
        let (a, b) = (&self.events[i].access, &self.events[j].access);
        match (a.kind, b.kind) {
            _ if self.full[j] > Some(i) => true,
            (AccessKind::Load | AccessKind::Rmw, _) => true,
            (AccessKind::Store, AccessKind::Load) => false,
            (AccessKind::Store, _) => {
                let same = a.addr == b.addr && (!self.bytes || a.overlaps(b));
                self.model == Relaxation::Tso || same || self.stored[j] > Some(i)
            }
        }
    }

    /// Whether the model keeps the order of these two of one thread, perhaps by way of others: an interlocked operation in
    /// between is the only thing that orders what comes after it where two by themselves are not ordered.
    fn keeps_somehow(&self, i: usize, j: usize) -> bool {
        let thread = self.events[i].thread;
        let between = |k: usize| self.events[k].thread == thread && self.kind(k) == AccessKind::Rmw && self.keeps(i, k);
        self.keeps(i, j) || (i + 1..j).any(between)
    }

    /// Edges, as few as will do, whose closure is memory's order: rhb, with the overtaking access just before the store.
    /// Nodes from the number of events on are barriers.
    fn edges(&self) -> (Vec<(usize, usize)>, usize) {
        /// The actions of a thread so far.
        #[derive(Default)]
        struct Past {
            /// The last event, or full barrier, that is kept before everything later.
            first: Option<usize>,
            /// The last store barrier, which is kept before later stores.
            barrier: Option<usize>,
            /// The last store to each address (under TSO: of all).
            stores: BTreeMap<Place, usize>,
        }
        /// The accesses to an address so far.
        #[derive(Default)]
        struct Cell {
            write: Option<usize>,
            reads: Vec<usize>,
        }
        let e = self.overtaking();
        let mut nodes = self.events.len();
        let mut edges = vec![(e, self.store)];
        let (mut threads, mut cells) = (FxHashMap::<u32, Past>::default(), FxHashMap::<Place, Cell>::default());
        for (i, event) in self.events.iter().enumerate() {
            let Access { kind, barrier, .. } = event.access;
            let past = threads.entry(event.thread).or_default();
            if barrier != Barrier::None {
                let node = nodes;
                nodes += 1;
                edges.extend(past.stores.values().map(|&store| (store, node)));
                if barrier == Barrier::Full {
                    edges.extend(past.first.map(|first| (first, node)));
                    past.first = Some(node);
                    past.stores.clear();
                } else {
                    edges.extend(past.barrier.map(|barrier| (barrier, node)));
                    past.barrier = Some(node);
                }
            }
            edges.extend(past.first.map(|first| (first, i)));
            if kind != AccessKind::Load {
                edges.extend(past.barrier.map(|barrier| (barrier, i)));
                for place in self.places(i) {
                    let buffer = if self.model == Relaxation::Tso { (0, 0) } else { place };
                    edges.extend(past.stores.insert(buffer, i).filter(|&store| store != i).map(|store| (store, i)));
                }
            }
            if kind != AccessKind::Store {
                past.first = Some(i);
            }
            if i == e {
                continue;
            }
            let interlocked = |i: usize| self.kind(i) == AccessKind::Rmw;
            for place in self.places(i) {
                let cell = cells.entry(place).or_default();
                if self.writes(i) {
                    edges.extend(cell.write.map(|write| (write, i)));
                    edges.extend(cell.reads.drain(..).map(|read| (read, i)));
                    cell.write = Some(i);
                } else {
                    let outside = |&write: &usize| {
                        self.events[write].thread != event.thread || interlocked(write) || interlocked(i)
                    };
                    edges.extend(cell.write.filter(outside).map(|write| (write, i)));
                    cell.reads.push(i);
                }
            }
        }
        // The overtaking access comes after what it reads or overwrites: the write before the store, and its reads.
        let interlocked = |i: usize| self.kind(i) == AccessKind::Rmw;
        for place in self.places(e) {
            if let Some(write) = self.before(place)
                && (self.last_writes
                    || self.events[write].thread != self.events[e].thread
                    || interlocked(write)
                    || interlocked(e))
            {
                edges.push((write, e));
            }
            edges.extend(self.reads_before(place).map(|read| (read, e)));
            // And before all that overwrites what it reads.
            let first = (0..e).find(|&i| self.after[i] && self.accesses(i, place) && self.writes(i));
            edges.extend(first.filter(|_| self.bytes).map(|write| (e, write)));
        }
        (edges, nodes)
    }

    /// All events in an order that memory may see them in.
    fn order(&self) -> Option<Vec<usize>> {
        let (edges, nodes) = self.edges();
        let (mut left, mut after) = (vec![0u32; nodes], vec![Vec::new(); nodes]);
        for (i, j) in edges {
            after[i].push(j);
            left[j] += 1;
        }
        // Barriers first: they take no time.
        let events = self.events.len();
        let rank = |i: usize| if i < events { (1, i) } else { (0, i) };
        let mut ready: BTreeSet<(u8, usize)> = (0..nodes).filter(|&i| left[i] == 0).map(rank).collect();
        let mut order = Vec::with_capacity(nodes);
        while let Some((_, i)) = ready.pop_first() {
            order.push(i);
            for &j in &after[i] {
                left[j] -= 1;
                if left[j] == 0 {
                    ready.insert(rank(j));
                }
            }
        }
        let all = order.len() == nodes;
        order.retain(|&i| i < events);
        all.then_some(order)
    }

    /// Memory's order as steps of the machine. Stores are issued when the schedule issues them, if they can be.
    fn run(&self, order: &[usize]) -> Vec<RunStep> {
        let mut own: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (i, event) in self.events.iter().enumerate() {
            own.entry(event.thread).or_default().push(i);
        }
        // How many events each thread has issued, and how many of its stores are in its buffer.
        let mut issued: FxHashMap<u32, usize> = FxHashMap::default();
        let mut buffered: FxHashMap<u32, usize> = FxHashMap::default();
        let mut run = Vec::new();
        let mut issue = |k: usize, run: &mut Vec<RunStep>, buffered: &mut FxHashMap<u32, usize>| {
            *issued.entry(self.events[k].thread).or_default() += 1;
            if self.kind(k) == AccessKind::Store {
                *buffered.entry(self.events[k].thread).or_default() += 1;
            }
            run.push(RunStep::Issue(k));
        };
        // Stores that the schedule has issued up to some event, and that could not be issued yet, wait in `early`.
        let mut next: FxHashMap<u32, usize> = FxHashMap::default();
        let mut early: BTreeSet<usize> = BTreeSet::new();
        let mut seen = 0;
        for &i in order {
            while seen < i {
                if self.kind(seen) == AccessKind::Store {
                    early.insert(seen);
                }
                seen += 1;
            }
            let mut done = Vec::new();
            for &k in early.range(..i) {
                let thread = self.events[k].thread;
                let at = next.entry(thread).or_default();
                if *at > 0 && own[&thread][*at - 1] >= k {
                    done.push(k);
                    continue;
                }
                let full = self.events[k].access.barrier == Barrier::Full;
                if own[&thread][*at] == k && !(full && buffered.get(&thread).is_some_and(|&n| n > 0)) {
                    *at += 1;
                    issue(k, &mut run, &mut buffered);
                    done.push(k);
                }
            }
            done.iter().for_each(|k| {
                early.remove(k);
            });
            let thread = self.events[i].thread;
            let at = next.entry(thread).or_default();
            while *at < own[&thread].len() && own[&thread][*at] <= i {
                let k = own[&thread][*at];
                *at += 1;
                issue(k, &mut run, &mut buffered);
            }
            if self.kind(i) == AccessKind::Store {
                *buffered.entry(thread).or_default() -= 1;
                run.push(RunStep::Commit(i));
            }
        }
        run
    }

    /// A shortest cycle of happens-before through the overtaking access and the store.
    fn cycle(&self) -> Option<Vec<Link>> {
        /// The way to an event that costs least, and the event.
        type Best = Option<(u32, usize)>;
        /// Length first, then fences.
        const LENGTH: u32 = 1 << 16;
        let e = self.overtaking();
        let mut reached: Vec<Option<(u32, Option<Link>)>> = vec![None; self.events.len()];
        // The best way to any event of a thread, to one that is kept before everything, to a write and to a read of an
        // address.
        let (mut any, mut first) =
            (FxHashMap::<u32, (u32, usize)>::default(), FxHashMap::<u32, (u32, usize)>::default());
        let (mut writes, mut reads) =
            (FxHashMap::<Place, (u32, usize)>::default(), FxHashMap::<Place, (u32, usize)>::default());
        for j in self.store..=e {
            let Event { thread, access, .. } = self.events[j];
            let mut best: Option<(u32, Option<Link>)> = (j == self.store).then_some((0, None));
            let mut offer = |way: Best, relation: Relation| {
                let Some((cost, from)) = way else { return };
                let cost = cost + LENGTH + u32::from(relation == Relation::Po);
                if best.is_none_or(|(known, _)| cost < known) {
                    best = Some((cost, Some(Link { from, to: j, relation })));
                }
            };
            if j > self.store {
                for way in [any.get(&thread).copied(), first.get(&thread).copied()] {
                    let kept = way.is_some_and(|(_, i)| self.keeps(i, j));
                    offer(way, program_order(kept));
                }
                let other = |way: Option<&(u32, usize)>| way.copied().filter(|&(_, i)| self.events[i].thread != thread);
                let known = |i: usize| reached[i].map(|(cost, _)| (cost, i));
                for (at, place) in self.places(j).enumerate() {
                    if j == e && self.bytes {
                        // What it reads at one byte may come after what it overtakes at another.
                        let relation = if access.kind.reads() { Relation::Rf } else { Relation::Co };
                        offer(other(self.before(place).and_then(known).as_ref()), relation);
                        for read in self.reads_before(place) {
                            offer(other(known(read).as_ref()), Relation::Fr);
                        }
                    } else if j < e && self.writes(j) {
                        offer(other(writes.get(&place)), Relation::Co);
                        offer(other(reads.get(&place)), Relation::Fr);
                    } else if j < e {
                        offer(other(self.sources[j][at].and_then(known).as_ref()), Relation::Rf);
                    }
                }
            }
            reached[j] = best;
            let Some((cost, _)) = best else { continue };
            let keep = |known: &mut (u32, usize)| *known = (*known).min((cost, j));
            keep(any.entry(thread).or_insert((cost, j)));
            if access.kind != AccessKind::Store {
                keep(first.entry(thread).or_insert((cost, j)));
            }
            let made = if self.writes(j) { &mut writes } else { &mut reads };
            self.places(j).for_each(|place| keep(made.entry(place).or_insert((cost, j))));
        }
        let mut cycle = Vec::new();
        let mut at = e;
        while let Some(mut link) = reached[at]?.1 {
            if matches!(link.relation, Relation::Po | Relation::Ppo) {
                link.relation = program_order(self.keeps_somehow(link.from, link.to));
            }
            cycle.push(link);
            at = link.from;
        }
        let relation = if self.events[e].access.kind.reads() { Relation::Fr } else { Relation::Co };
        cycle.push(Link { from: e, to: self.store, relation });
        cycle.reverse();
        Some(cycle)
    }

    fn fences(&self, cycle: &[Link]) -> Vec<Fence> {
        let relaxed = cycle.iter().filter(|link| link.relation == Relation::Po);
        relaxed
            .map(|link| {
                let reads = self.events[link.to].access.kind == AccessKind::Load;
                let barrier = if reads { Barrier::Full } else { Barrier::Store };
                Fence { after: link.from, before: link.to, barrier }
            })
            .collect()
    }
}
