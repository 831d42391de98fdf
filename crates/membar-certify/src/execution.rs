//! Executions as graphs, and whether one is sequentially consistent.
//!
//! Problem: an execution is its accesses, per thread in program order (po), where each read its value (rf), and per address the order of
//! its writes (co); fr leads from a read to the writes after the one it read. Is happens-before = po ∪ rf ∪ co ∪ fr acyclic, and if
//! not, which short cycle shows it?
//!
//! Algorithm: remove events without a predecessor, then events without a successor, as long as there are any. If nothing is
//! left, the execution is sequentially consistent. Otherwise search from each event that is left for the way back to
//! itself that changes least often between runs of one thread's program order, runs along one address's writes, and
//! reads. Each run becomes one link of the cycle.
//!
//! Complexity: O(n) to decide and O(n²) to find the cycle for n events (from the first 512 events only, so that a very long
//! execution is not a problem).
//!
//! Guarantees: the cycle is the shortest through the events searched from.

use crate::bytes;
use membar_core::{Access, Claim};
use std::collections::VecDeque;

/// An event: an access that was made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Event {
    /// The thread that made it.
    pub thread: u32,
    /// Its place in program order, from 0.
    pub index: u32,
}

/// The effect of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Made {
    /// The access.
    pub access: Access,
    /// The value it read, unless it is a store.
    pub read: Option<Read>,
    /// The value of the whole address that it left: nothing if it is a load, or a compare-exchange that failed.
    pub wrote: Option<u64>,
}

impl Made {
    /// The value of the bytes that it read, unless it is a store.
    pub fn value_read(&self) -> Option<u64> {
        self.read.map(|read| self.access.part_of(read.value))
    }
}

/// The value an access read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// The event that wrote it; `None` is the initial value. Where accesses to the address have some bytes in common and not others,
    /// sources are found by byte (`bytes.rs`).
    pub source: Option<Event>,
    /// The last write to the address that had reached memory.
    pub memory: Option<Event>,
    /// The value of the whole address, as the thread saw it.
    pub value: u64,
}

/// The events of an execution, without the order of its steps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Per thread its accesses in program order.
    pub threads: Vec<Vec<Made>>,
    /// Per address its writes in the order in which they reached memory (co), up to the last address that was written.
    pub order: Vec<Vec<Event>>,
}

impl Trace {
    /// The access that the event made, if the trace has it.
    pub fn get(&self, event: Event) -> Option<&Made> {
        self.threads.get(event.thread as usize)?.get(event.index as usize)
    }

    /// A happens-before cycle; `None` if the trace is sequentially consistent.
    pub fn cycle(&self) -> Option<Vec<Link>> {
        if bytes::has_parts(self) { bytes::cycle(self) } else { Graph::new(self).cycle() }
    }

    /// Whether these are all of its accesses, each thread's in this order.
    pub(crate) fn is_claimed(&self, claims: &[Claim]) -> bool {
        let mut next = vec![0; self.threads.len()];
        let claimed = claims.iter().all(|claim| {
            let Some(index) = next.get_mut(claim.thread as usize) else { return false };
            let made = self.get(Event { thread: claim.thread, index: *index });
            *index += 1;
            made.is_some_and(|made| {
                made.access.site == claim.site && (claim.read.is_none() || made.value_read() == claim.read)
            })
        });
        claimed && self.threads.iter().map(Vec::len).sum::<usize>() == claims.len()
    }

    /// The place of a write in the order of its address, if it has one.
    pub(crate) fn place(&self, addr: u32, write: Event) -> Option<usize> {
        self.order.get(addr as usize)?.iter().position(|&event| event == write)
    }
}

/// How one event happens before another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// It is earlier in its thread.
    Po,
    /// The other read what it wrote.
    Rf,
    /// It wrote the address before the other.
    Co,
    /// It read the address before the other wrote it.
    Fr,
}

impl Relation {
    /// `po`, `rf`, `co` or `fr`.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Po => "po",
            Relation::Rf => "rf",
            Relation::Co => "co",
            Relation::Fr => "fr",
        }
    }
}

/// A link of a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Link {
    /// This event
    pub event: Event,
    /// happens, for this reason, before the next link's, and the last link's before the first's.
    pub relation: Relation,
}

/// No event.
pub(crate) const NONE: u32 = u32::MAX;

/// From how many events a cycle is searched at most.
const STARTS: usize = 512;

/// The kind of run a way is in: the steps that it may continue with at no cost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Nothing: this is where the search began.
    Start,
    /// Nothing: the last step was from a write to its reader.
    Read,
    /// Program order.
    Po,
    /// The writes of an address.
    Order,
}

const MODES: usize = 4;

/// Happens-before, with each order as its immediate successors only. Events are numbered thread by thread.
pub(crate) struct Graph {
    pub(crate) events: Vec<Event>,
    /// Per event the next one of its thread.
    pub(crate) po: Vec<u32>,
    /// Per write the next one to its address.
    pub(crate) co: Vec<u32>,
    /// Per read the first write to its address after its source that is not its own.
    pub(crate) fr: Vec<u32>,
    /// Per write the events that read from it: `readers[first[w]..first[w + 1]]`.
    first: Vec<u32>,
    readers: Vec<u32>,
}

impl Graph {
    pub(crate) fn new(trace: &Trace) -> Graph {
        let mut start = Vec::with_capacity(trace.threads.len());
        let mut events = Vec::new();
        for (thread, made) in (0..).zip(&trace.threads) {
            start.push(events.len());
            events.extend((0..made.len() as u32).map(|index| Event { thread, index }));
        }
        let n = events.len();
        let number = |event: Event| start[event.thread as usize] + event.index as usize;
        let mut graph = Graph {
            events,
            po: vec![NONE; n],
            co: vec![NONE; n],
            fr: vec![NONE; n],
            first: vec![0; n + 1],
            readers: Vec::new(),
        };
        for at in 1..n {
            if graph.events[at - 1].thread == graph.events[at].thread {
                graph.po[at - 1] = at as u32;
            }
        }
        for pair in trace.order.iter().flat_map(|order| order.windows(2)) {
            graph.co[number(pair[0])] = number(pair[1]) as u32;
        }
        let mut reads = Vec::new();
        for (at, made) in trace.threads.iter().flatten().enumerate() {
            let Some(read) = made.read else { continue };
            let next = match read.source {
                Some(source) => {
                    reads.push((number(source), at as u32));
                    graph.co[number(source)]
                }
                None => {
                    let order = trace.order.get(made.access.addr as usize);
                    order.and_then(|order| order.first()).map_or(NONE, |&w| number(w) as u32)
                }
            };
            // An interlocked operation is itself the next write after the one it read; co covers the rest.
            graph.fr[at] = if next == at as u32 { NONE } else { next };
        }
        reads.sort_unstable();
        for &(source, _) in &reads {
            graph.first[source + 1] += 1;
        }
        for at in 0..n {
            graph.first[at + 1] += graph.first[at];
        }
        graph.readers = reads.into_iter().map(|(_, reader)| reader).collect();
        graph
    }

    /// The events that read what this one wrote.
    pub(crate) fn readers(&self, at: usize) -> &[u32] {
        &self.readers[self.first[at] as usize..self.first[at + 1] as usize]
    }

    /// The immediate successors of an event.
    fn successors(&self, at: usize) -> impl Iterator<Item = (Relation, usize)> {
        let single = [(Relation::Po, self.po[at]), (Relation::Co, self.co[at]), (Relation::Fr, self.fr[at])];
        let readers = self.readers(at).iter().map(|&reader| (Relation::Rf, reader));
        single.into_iter().chain(readers).filter(|&(_, to)| to != NONE).map(|(relation, to)| (relation, to as usize))
    }

    fn cycle(&self) -> Option<Vec<Link>> {
        let alive = self.on_cycles();
        let mut best: Option<(u32, Vec<Link>)> = None;
        let mut search = Search::default();
        for start in (0..self.events.len()).filter(|&at| alive[at]).take(STARTS) {
            let below = best.as_ref().map_or(u32::MAX, |&(length, _)| length);
            best = search.back_to(self, &alive, start, below).or(best);
        }
        best.map(|(_, cycle)| cycle)
    }

    /// Which events are left when those without a predecessor, and then those without a successor, are removed.
    fn on_cycles(&self) -> Vec<bool> {
        let n = self.events.len();
        let mut before = vec![Vec::new(); n];
        let after: Vec<Vec<usize>> = (0..n).map(|at| self.successors(at).map(|(_, to)| to).collect()).collect();
        for (at, successors) in after.iter().enumerate() {
            successors.iter().for_each(|&to| before[to].push(at));
        }
        let mut alive = vec![true; n];
        for (from, to) in [(&before, &after), (&after, &before)] {
            let mut open: Vec<usize> = Vec::new();
            let mut count: Vec<usize> = from.iter().map(|from| from.iter().filter(|&&at| alive[at]).count()).collect();
            open.extend((0..n).filter(|&at| alive[at] && count[at] == 0));
            while let Some(at) = open.pop() {
                alive[at] = false;
                for &next in to[at].iter().filter(|&&next| alive[next]) {
                    count[next] -= 1;
                    if count[next] == 0 {
                        open.push(next);
                    }
                }
            }
        }
        alive
    }
}

/// Shortest ways, where a step that continues with the same run costs nothing.
#[derive(Default)]
struct Search {
    /// Per state (event and mode) the least cost found.
    cost: Vec<u32>,
    /// Per state the state before it, and the relation between.
    from: Vec<(u32, Relation)>,
    open: VecDeque<(u32, u32)>,
}

impl Search {
    /// The shortest cycle through `start` with fewer than `below` links.
    fn back_to(&mut self, graph: &Graph, alive: &[bool], start: usize, below: u32) -> Option<(u32, Vec<Link>)> {
        let state = |at: usize, mode: Mode| (at * MODES + mode as usize) as u32;
        let states = graph.events.len() * MODES;
        self.cost.clear();
        self.cost.resize(states, u32::MAX);
        self.from.clear();
        self.from.resize(states, (NONE, Relation::Po));
        self.open.clear();
        self.cost[state(start, Mode::Start) as usize] = 0;
        self.open.push_back((0, state(start, Mode::Start)));
        while let Some((cost, here)) = self.open.pop_front() {
            let at = here as usize / MODES;
            if at == start && cost > 0 {
                return (cost < below).then(|| (cost, self.links(graph, here)));
            }
            if cost > self.cost[here as usize] || cost >= below {
                continue;
            }
            for (relation, to) in graph.successors(at).filter(|&(_, to)| alive[to]) {
                let mode = match relation {
                    Relation::Po => Mode::Po,
                    Relation::Co | Relation::Fr => Mode::Order,
                    Relation::Rf => Mode::Read,
                };
                // From the write that overwrites a read on to later ones is still fr, and from write to write co.
                let goes_on = matches!(relation, Relation::Po | Relation::Co);
                let same = goes_on && here as usize % MODES == mode as usize;
                let (next, cost) = (state(to, mode), cost + u32::from(!same));
                if cost < self.cost[next as usize] {
                    self.cost[next as usize] = cost;
                    self.from[next as usize] = (here, relation);
                    if same { self.open.push_front((cost, next)) } else { self.open.push_back((cost, next)) }
                }
            }
        }
        None
    }

    /// The way that led to this state, one link a run.
    fn links(&self, graph: &Graph, end: u32) -> Vec<Link> {
        let mut links = Vec::new();
        let mut here = end as usize;
        while self.from[here].0 != NONE {
            let (before, relation) = (self.from[here].0 as usize, self.from[here].1);
            // A step that costs nothing belongs to the run that an earlier one began.
            if self.cost[before] < self.cost[here] {
                links.push(Link { event: graph.events[before / MODES], relation });
            }
            here = before;
        }
        links.reverse();
        links
    }
}
