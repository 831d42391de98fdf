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
//!    Nothing is committed that the steps do not commit. At the end nothing may be left in a buffer.
//! 2. The trace: per thread its accesses in program order, where each read its value, and per address the writes in the
//!    order in which they reached memory. Happens-before is po ∪ rf ∪ co ∪ fr.
//! 3. Remove events without a predecessor, then events without a successor, as long as there are any. If nothing is
//!    left, the trace is sequentially consistent. Otherwise search from each event that is left for the way back to
//!    itself that changes least often between runs of one thread's program order, runs along one address's writes, and
//!    reads. Each run becomes one link of the cycle.
//!
//! Invariants: a buffer is in program order, so its epochs (the number of store barriers before each store) increase.
//!
//! Complexity: O(s · b) for s steps and buffers of length b; O(n) to decide and O(n²) to find the cycle for n events (from
//! the first 512 events only, so that a very long execution is not a problem).
//!
//! Guarantees: shares no code with the monitors, the explorer or the oracle. Steps may be garbage and nothing panics, as
//! long as the program itself is well-formed: it keeps to [`Threads`], and its addresses are dense. The cycle is the
//! shortest through the events searched from.

use membar_core::{Access, AccessKind, Barrier, Claim, Halt, MachineStep as Step, Relaxation, Threads};
use std::collections::VecDeque;
use std::fmt;

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
    /// The value it wrote: nothing if it is a load, or a compare-exchange that failed.
    pub wrote: Option<u64>,
}

/// The value an access read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// The event that wrote it; `None` is the initial value.
    pub source: Option<Event>,
    /// The value.
    pub value: u64,
}

/// The events of an execution, without the order of its steps.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Per thread its accesses in program order.
    pub threads: Vec<Vec<Made>>,
    /// Per address its writes in the order in which they reached memory, up to the last address that was written.
    pub order: Vec<Vec<Event>>,
}

impl Trace {
    /// The access that the event made, if the trace has it.
    pub fn get(&self, event: Event) -> Option<&Made> {
        self.threads.get(event.thread as usize)?.get(event.index as usize)
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
            Step::Commit(thread, addr) => run.commit(thread, addr),
        };
        done.map_err(|cause| Refusal { step: index, cause })?;
    }
    for (thread, state) in (0..).zip(&run.threads) {
        if let Some(store) = state.buffer.front() {
            return Err(Refusal { step: steps.len(), cause: Cause::Left { thread, addr: store.addr } });
        }
    }
    let cycle = Graph::new(&run.trace).cycle();
    Ok(Replayed { trace: run.trace, cycle })
}

/// Whether the machine can do these steps, which make exactly these accesses, each thread's in this order, and whether that
/// is not sequentially consistent.
pub fn confirms(program: &mut impl Threads, machine: Relaxation, steps: &[Step], claims: &[Claim]) -> bool {
    let Ok(replayed) = replay(program, machine, steps) else { return false };
    let mut next = vec![0; replayed.trace.threads.len()];
    let claimed = claims.iter().all(|claim| {
        let Some(index) = next.get_mut(claim.thread as usize) else { return false };
        let made = replayed.trace.get(Event { thread: claim.thread, index: *index });
        *index += 1;
        made.is_some_and(|made| made.access.site == claim.site && made.read.map(|read| read.value) == claim.read)
    });
    let all = replayed.trace.threads.iter().map(Vec::len).sum::<usize>() == claims.len();
    claimed && all && replayed.cycle.is_some()
}

struct Buffered {
    event: Event,
    addr: u32,
    value: u64,
    epoch: u32,
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
}

impl<'p, P: Threads> Run<'p, P> {
    fn new(program: &'p mut P, machine: Relaxation) -> Run<'p, P> {
        let threads = program.threads();
        Run {
            program,
            machine,
            threads: (0..threads).map(|_| Thread::default()).collect(),
            trace: Trace { threads: vec![Vec::new(); threads], order: Vec::new() },
        }
    }

    /// A write reaches memory.
    fn write(&mut self, event: Event, addr: u32, value: u64) {
        let (order, at) = (&mut self.trace.order, addr as usize);
        if at >= order.len() {
            order.resize_with(at + 1, Vec::new);
        }
        order[at].push(event);
        self.program.set(addr, value);
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
                    && (self.machine == Relaxation::Tso || store.addr == access.addr || store.epoch < epoch)
        };
        if let Some(store) = thread.buffer.iter().find(blocks) {
            return Err(Cause::Waits { thread: t, behind: store.addr });
        }

        let own = thread.buffer.iter().rev().find(|store| store.addr == access.addr);
        let read = match own.map(|store| Read { source: Some(store.event), value: store.value }) {
            Some(read) => read,
            None => {
                // Memory holds what the last write left there.
                let order = self.trace.order.get(access.addr as usize);
                let source = order.and_then(|order| order.last()).copied();
                Read { source, value: self.program.value(access.addr) }
            }
        };
        let read = Read { value: outcome.unwrap_or(read.value), ..read };
        let wrote = self.program.perform(at, read.value);
        let event = Event { thread: t, index: self.trace.threads[at].len() as u32 };
        match (access.kind, wrote) {
            (AccessKind::Store, Some(value)) => {
                self.threads[at].buffer.push_back(Buffered { event, addr: access.addr, value, epoch });
            }
            (_, Some(value)) => self.write(event, access.addr, value),
            (_, None) => {}
        }
        let read = access.kind.reads().then_some(read);
        self.trace.threads[at].push(Made { access, read, wrote });
        Ok(())
    }

    fn commit(&mut self, t: u32, addr: u32) -> Result<(), Cause> {
        let thread = self.threads.get_mut(t as usize).ok_or(Cause::NoThread(t))?;
        let place = thread.buffer.iter().position(|store| store.addr == addr);
        let (Some(place), Some(oldest)) = (place, thread.buffer.front()) else {
            return Err(Cause::NotBuffered { thread: t, addr });
        };
        let ordered = match self.machine {
            Relaxation::Tso => place > 0,
            Relaxation::Pso => oldest.epoch < thread.buffer[place].epoch,
        };
        if ordered {
            return Err(Cause::Behind { thread: t, addr, first: oldest.addr });
        }
        if let Some(store) = thread.buffer.remove(place) {
            self.write(store.event, addr, store.value);
        }
        Ok(())
    }
}

/// No event.
const NONE: u32 = u32::MAX;

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
struct Graph {
    events: Vec<Event>,
    /// Per event the next one of its thread.
    po: Vec<u32>,
    /// Per write the next one to its address.
    co: Vec<u32>,
    /// Per read the first write to its address after its source that is not its own.
    fr: Vec<u32>,
    /// Per write the events that read from it: `readers[first[w]..first[w + 1]]`.
    first: Vec<u32>,
    readers: Vec<u32>,
}

impl Graph {
    fn new(trace: &Trace) -> Graph {
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

    /// The immediate successors of an event.
    fn successors(&self, at: usize) -> impl Iterator<Item = (Relation, usize)> {
        let readers = &self.readers[self.first[at] as usize..self.first[at + 1] as usize];
        let single = [(Relation::Po, self.po[at]), (Relation::Co, self.co[at]), (Relation::Fr, self.fr[at])];
        let readers = readers.iter().map(|&reader| (Relation::Rf, reader));
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
