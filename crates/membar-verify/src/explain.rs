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
//! matter: with e they are the execution that the proof in `membar-monitor/src/class.rs` builds. Everything here is done
//! the plain way, on lists of pairs.
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

use crate::watch::Found;
use membar_core::{Access, AccessKind, Barrier, Performed, Relaxation};
use membar_explore::{Next, Program};

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
}

/// An event of the execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Which step of the schedule it is.
    pub step: u32,
    /// Who.
    pub thread: u32,
    /// What.
    pub access: Access,
    /// The value read, if it reads.
    pub read: Option<u64>,
    /// The value written, if it writes. What the overtaking access writes is not known here if it computes it.
    pub write: Option<u64>,
}

/// Why one event comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// Program order. `kept` if the model keeps it.
    Po {
        /// Whether the model keeps it.
        kept: bool,
    },
    /// The target reads what the source wrote.
    Rf,
    /// The target overwrites what the source wrote.
    Co,
    /// The target overwrites what the source read.
    Fr,
}

/// An edge of the cycle, between two indices into the events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The earlier event.
    pub from: usize,
    /// The later event.
    pub to: usize,
    /// Why.
    pub relation: Relation,
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
pub fn explain<P: Program>(program: &mut P, found: &Found, model: Relaxation) -> Option<Explanation> {
    let steps: Vec<Performed> = found.schedule.0.iter().map(|&thread| program.step(thread as usize)).collect();
    let next = program.next(found.thread as usize);
    for _ in &steps {
        program.undo();
    }
    let (before, access) = if found.tried {
        let Next::Access(access) = next else { return None };
        (&steps[..], access)
    } else {
        let (last, before) = steps.split_last()?;
        (before, last.access)
    };
    let past = past_of_thread(before, found.thread)?;
    let kept: Vec<usize> = (0..before.len()).filter(|&i| past[i]).collect();
    let store = kept.iter().position(|&i| i == found.store as usize)?;
    let mut events: Vec<Event> = kept.iter().map(|&i| event(i, &before[i])).collect();
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

    let graph = Graph::new(events, store, model);
    let order = graph.order()?;
    let run = graph.run(&order);
    let cycle = graph.cycle()?;
    let fences = graph.fences(&cycle);
    Some(Explanation { events: graph.events, store, cycle, run, fences })
}

fn event(step: usize, performed: &Performed) -> Event {
    Event {
        step: step as u32,
        thread: performed.thread,
        access: performed.access,
        read: performed.access.kind.reads().then_some(performed.old),
        write: performed.writes.then_some(performed.new),
    }
}

/// Which steps happen before the thread's last step, or are it.
fn past_of_thread(steps: &[Performed], thread: u32) -> Option<Vec<bool>> {
    let last = steps.iter().rposition(|step| step.thread == thread)?;
    let mut past = vec![false; steps.len()];
    past[last] = true;
    for i in (0..last).rev() {
        past[i] = (i + 1..=last).any(|j| past[j] && before(&steps[i], &steps[j]));
    }
    Some(past)
}

/// Whether the earlier step comes before the later one in program order or by conflict.
fn before(earlier: &Performed, later: &Performed) -> bool {
    earlier.thread == later.thread || (earlier.access.addr == later.access.addr && (earlier.writes || later.writes))
}

/// The execution: events in the order of the schedule, the last of them the one that overtakes.
struct Graph {
    events: Vec<Event>,
    store: usize,
    model: Relaxation,
}

impl Graph {
    fn new(events: Vec<Event>, store: usize, model: Relaxation) -> Graph {
        Graph { events, store, model }
    }

    fn overtaking(&self) -> usize {
        self.events.len() - 1
    }

    fn writes(&self, i: usize) -> bool {
        let event = &self.events[i];
        if i == self.overtaking() { event.access.writes_on(event.read.unwrap_or(0)) } else { event.write.is_some() }
    }

    /// The write that a read of the schedule returns.
    fn source(&self, read: usize) -> Option<usize> {
        (0..read).rev().find(|&i| self.events[i].access.addr == self.events[read].access.addr && self.writes(i))
    }

    /// Whether the model keeps the order of these two of one thread, by themselves.
    fn keeps(&self, i: usize, j: usize) -> bool {
        let (a, b) = (&self.events[i], &self.events[j]);
        let between = (i + 1..=j).filter(|&k| self.events[k].thread == a.thread);
        let barrier = between.map(|k| self.events[k].access.barrier).max().unwrap_or(Barrier::None);
        match (a.access.kind, b.access.kind) {
            _ if barrier == Barrier::Full => true,
            (AccessKind::Load | AccessKind::Rmw, _) => true,
            (AccessKind::Store, AccessKind::Load) => false,
            (AccessKind::Store, _) => {
                self.model == Relaxation::Tso || a.access.addr == b.access.addr || barrier == Barrier::Store
            }
        }
    }

    /// Whether the model keeps the order of these two of one thread, perhaps by way of others in between.
    fn keeps_somehow(&self, i: usize, j: usize) -> bool {
        let thread = self.events[i].thread;
        let mut after = vec![i];
        for k in (i + 1..=j).filter(|&k| self.events[k].thread == thread) {
            if after.iter().any(|&a| self.keeps(a, k)) {
                after.push(k);
            }
        }
        after.contains(&j)
    }

    /// Whether memory's order puts `i` before `j`: rhb, with the overtaking access just before the store.
    fn is_before(&self, i: usize, j: usize) -> bool {
        let (a, b) = (&self.events[i], &self.events[j]);
        if i == self.overtaking() {
            return j == self.store;
        }
        if j == self.overtaking() {
            let conflict = a.access.addr == b.access.addr && (!self.writes(i) || i < self.store);
            let read_older = !self.writes(i) && self.source(i).is_none_or(|source| source < self.store);
            let interlocked = a.access.kind == AccessKind::Rmw || b.access.kind == AccessKind::Rmw;
            return (a.thread == b.thread && self.keeps(i, j))
                || (conflict && self.writes(i) && (self.writes(j) || a.thread != b.thread || interlocked))
                || (conflict && read_older && self.writes(j));
        }
        if i >= j {
            return false;
        }
        if a.thread == b.thread && self.keeps(i, j) {
            return true;
        }
        if a.access.addr != b.access.addr {
            return false;
        }
        if self.writes(j) {
            return true; // co or fr
        }
        let interlocked = a.access.kind == AccessKind::Rmw || b.access.kind == AccessKind::Rmw;
        self.source(j) == Some(i) && (a.thread != b.thread || interlocked)
    }

    /// All events in an order that memory may see them in.
    fn order(&self) -> Option<Vec<usize>> {
        let n = self.events.len();
        let after: Vec<Vec<usize>> =
            (0..n).map(|i| (0..n).filter(|&j| i != j && self.is_before(i, j)).collect()).collect();
        let mut left = vec![0; n];
        after.iter().flatten().for_each(|&j| left[j] += 1);
        let mut order = Vec::with_capacity(n);
        let mut ready: std::collections::BTreeSet<usize> = (0..n).filter(|&i| left[i] == 0).collect();
        while let Some(i) = ready.pop_first() {
            order.push(i);
            for &j in &after[i] {
                left[j] -= 1;
                if left[j] == 0 {
                    ready.insert(j);
                }
            }
        }
        (order.len() == n).then_some(order)
    }

    /// Memory's order as steps of the machine. Stores are issued when the schedule issues them, if they can be.
    fn run(&self, order: &[usize]) -> Vec<RunStep> {
        let mut issued = vec![false; self.events.len()];
        let mut committed = vec![false; self.events.len()];
        let mut run = Vec::new();
        for &i in order {
            for k in 0..i {
                let event = &self.events[k];
                let mut before = (0..k).filter(|&b| self.events[b].thread == event.thread);
                let drained = |b: usize| self.events[b].access.kind != AccessKind::Store || committed[b];
                let can = event.access.kind == AccessKind::Store
                    && before.all(|b| issued[b] && (event.access.barrier != Barrier::Full || drained(b)));
                if can && !issued[k] {
                    issued[k] = true;
                    run.push(RunStep::Issue(k));
                }
            }
            for k in (0..=i).filter(|&k| self.events[k].thread == self.events[i].thread) {
                if !issued[k] {
                    issued[k] = true;
                    run.push(RunStep::Issue(k));
                }
            }
            if self.events[i].access.kind == AccessKind::Store {
                committed[i] = true;
                run.push(RunStep::Commit(i));
            }
        }
        run
    }

    /// A shortest cycle of happens-before through the overtaking access and the store.
    fn cycle(&self) -> Option<Vec<Link>> {
        /// Length first, then fences.
        const LENGTH: u32 = 1 << 16;
        let e = self.overtaking();
        let mut best: Vec<Option<(u32, Option<Link>)>> = vec![None; self.events.len()];
        best[self.store] = Some((0, None));
        for j in self.store + 1..=e {
            for i in self.store..j {
                let Some((cost, _)) = best[i] else { continue };
                let Some(relation) = self.relation(i, j) else { continue };
                if j == e && !matches!(relation, Relation::Po { .. }) {
                    continue;
                }
                let cost = cost + LENGTH + u32::from(relation == Relation::Po { kept: false });
                if best[j].is_none_or(|(known, _)| cost < known) {
                    best[j] = Some((cost, Some(Link { from: i, to: j, relation })));
                }
            }
        }
        let mut cycle = Vec::new();
        let mut at = e;
        while let Some(link) = best[at]?.1 {
            cycle.push(link);
            at = link.from;
        }
        let relation = if self.events[e].access.kind.reads() { Relation::Fr } else { Relation::Co };
        cycle.push(Link { from: e, to: self.store, relation });
        cycle.reverse();
        Some(cycle)
    }

    /// Why `i` happens before `j`, which comes later in the schedule.
    fn relation(&self, i: usize, j: usize) -> Option<Relation> {
        let (a, b) = (&self.events[i], &self.events[j]);
        if a.thread == b.thread {
            return Some(Relation::Po { kept: self.keeps_somehow(i, j) });
        }
        if a.access.addr != b.access.addr {
            return None;
        }
        match (self.writes(i), self.writes(j)) {
            (true, true) => Some(Relation::Co),
            (true, false) => (self.source(j) == Some(i)).then_some(Relation::Rf),
            (false, true) => Some(Relation::Fr),
            (false, false) => None,
        }
    }

    fn fences(&self, cycle: &[Link]) -> Vec<Fence> {
        let relaxed = cycle.iter().filter(|link| link.relation == Relation::Po { kept: false });
        relaxed
            .map(|link| {
                let reads = self.events[link.to].access.kind == AccessKind::Load;
                let barrier = if reads { Barrier::Full } else { Barrier::Store };
                Fence { after: link.from, before: link.to, barrier }
            })
            .collect()
    }
}
