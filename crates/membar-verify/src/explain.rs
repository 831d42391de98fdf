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
//! matter: with e they are the execution that the proof in `membar-monitor/src/class.rs` builds.
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

use crate::watch::Found;
use membar_core::{Access, AccessKind, Barrier, Claim, MachineStep, Order, Performed, Relation, Relaxation};
use membar_explore::{Next, Program};
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
            RunStep::Commit(i) => MachineStep::Commit(self.events[i].thread, self.events[i].access.addr),
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
    /// The value read, if it reads.
    pub read: Option<u64>,
    /// The value written, if it writes. The value that the overtaking access writes is not known here if it is computed.
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
        if let Some(source) = graph.source[event].filter(|_| step.access.kind.reads())
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
    let past = past_of_thread(before, found.thread)?;
    let kept: Vec<usize> = (0..before.len()).filter(|&i| past[i]).collect();
    let store = kept.iter().position(|&i| i == found.store as usize)?;
    let mut events: Vec<Event> = kept.iter().map(|&i| Event::new(i, &before[i])).collect();
    let overtaken = &before[kept[store]];
    if overtaken.access.addr != access.addr || !overtaken.writes || overtaken.thread == found.thread {
        return None;
    }
    let read = access.kind.reads().then_some(overtaken.old);
    let write = match access.kind {
        AccessKind::Store if !found.tried => steps.last().map(|step| step.new),
        _ => None,
    };
    events.push(Event { step: before.len() as u32, thread: found.thread, access, read, write });

    let Some(machine) = found.model.machine() else {
        // Every program order may matter, and none is one that the model keeps by itself.
        let graph = Graph::new(events, store, Relaxation::Pso);
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
        let ordered = ordered(before, &kept, &graph);
        return Some(Explanation { events: graph.events, store, cycle, run, fences: Vec::new(), orders, ordered });
    };
    let graph = Graph::new(events, store, machine);
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
            read: performed.access.kind.reads().then_some(performed.old),
            write: performed.writes.then_some(performed.new),
        }
    }
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
    /// For each event of the schedule that reads, the write that it returns.
    source: Vec<Option<usize>>,
}

impl Graph {
    fn new(events: Vec<Event>, store: usize, model: Relaxation) -> Graph {
        let mut graph = Graph { store, model, full: Vec::new(), stored: Vec::new(), source: Vec::new(), events };
        let (mut full, mut stored, mut last) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
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
            graph.source.push(last.get(&access.addr).copied());
            if graph.writes(i) {
                last.insert(access.addr, i);
            }
        }
        graph
    }

    fn overtaking(&self) -> usize {
        self.events.len() - 1
    }

    fn kind(&self, i: usize) -> AccessKind {
        self.events[i].access.kind
    }

    fn writes(&self, i: usize) -> bool {
        let event = &self.events[i];
        if i + 1 == self.events.len() { event.access.writes_on(event.read.unwrap_or(0)) } else { event.write.is_some() }
    }

    /// Whether the model keeps the order of these two of one thread, by themselves.
    fn keeps(&self, i: usize, j: usize) -> bool {
        let (a, b) = (&self.events[i].access, &self.events[j].access);
        match (a.kind, b.kind) {
            _ if self.full[j] > Some(i) => true,
            (AccessKind::Load | AccessKind::Rmw, _) => true,
            (AccessKind::Store, AccessKind::Load) => false,
            (AccessKind::Store, _) => self.model == Relaxation::Tso || a.addr == b.addr || self.stored[j] > Some(i),
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
            stores: BTreeMap<u32, usize>,
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
        let (mut threads, mut cells) = (FxHashMap::<u32, Past>::default(), FxHashMap::<u32, Cell>::default());
        for (i, event) in self.events.iter().enumerate() {
            let Access { kind, barrier, addr, .. } = event.access;
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
            let buffer = if self.model == Relaxation::Tso { 0 } else { addr };
            if kind != AccessKind::Load {
                edges.extend(past.barrier.map(|barrier| (barrier, i)));
                edges.extend(past.stores.get(&buffer).map(|&store| (store, i)));
                past.stores.insert(buffer, i);
            }
            if kind != AccessKind::Store {
                past.first = Some(i);
            }
            if i == e {
                continue;
            }
            let cell = cells.entry(addr).or_default();
            let interlocked = |i: usize| self.kind(i) == AccessKind::Rmw;
            if self.writes(i) {
                edges.extend(cell.write.map(|write| (write, i)));
                edges.extend(cell.reads.drain(..).map(|read| (read, i)));
                cell.write = Some(i);
            } else {
                let outside =
                    |&write: &usize| self.events[write].thread != event.thread || interlocked(write) || interlocked(i);
                edges.extend(cell.write.filter(outside).map(|write| (write, i)));
                cell.reads.push(i);
            }
        }
        // The overtaking access comes after what it reads or overwrites: the write before the store, and its reads.
        let Event { thread, access, .. } = self.events[e];
        let before = (0..self.store).rev().find(|&i| self.events[i].access.addr == access.addr && self.writes(i));
        let interlocked = |i: usize| self.kind(i) == AccessKind::Rmw;
        if let Some(write) = before
            && (self.writes(e) || self.events[write].thread != thread || interlocked(write) || interlocked(e))
        {
            edges.push((write, e));
        }
        if self.writes(e) {
            let reads = |&i: &usize| {
                let same = self.events[i].access.addr == access.addr && !self.writes(i);
                same && i != e && self.source[i] == before
            };
            edges.extend((0..e).filter(reads).map(|read| (read, e)));
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
            (FxHashMap::<u32, (u32, usize)>::default(), FxHashMap::<u32, (u32, usize)>::default());
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
                if j < e && self.writes(j) {
                    offer(other(writes.get(&access.addr)), Relation::Co);
                    offer(other(reads.get(&access.addr)), Relation::Fr);
                } else if j < e {
                    let source = self.source[j].and_then(|i| reached[i].map(|(cost, _)| (cost, i)));
                    offer(other(source.as_ref()), Relation::Rf);
                }
            }
            reached[j] = best;
            let Some((cost, _)) = best else { continue };
            let keep = |map: &mut FxHashMap<u32, (u32, usize)>, key: u32| {
                let known = map.entry(key).or_insert((cost, j));
                *known = (*known).min((cost, j));
            };
            keep(&mut any, thread);
            if access.kind != AccessKind::Store {
                keep(&mut first, thread);
            }
            keep(if self.writes(j) { &mut writes } else { &mut reads }, access.addr);
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
