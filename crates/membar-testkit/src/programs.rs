//! All executions of a program on the operational machines SC, TSO and PSO.
//!
//! Problem: which traces and which final states can a program ([`Code`]) have on a machine with store buffers, and is
//! one of its traces not sequentially consistent?
//!
//! The machines are those of Burnim, Sen and Stergiou (2010), figures 1 to 3, with values. A step is
//! 1. [`Step::Issue`]: a thread makes its next access. A store enters the thread's buffer (SC: memory). A load returns
//!    the youngest store to its address in its own buffer, else memory. An interlocked operation acts on memory, and
//!    waits until its thread's buffer is empty (TSO), or holds nothing for its address and no store from before the
//!    thread's last store barrier (PSO). An access after a full barrier waits until the buffer is empty.
//! 2. [`Step::Commit`]: a buffered store reaches memory: the oldest of its thread (TSO), the oldest of its thread and
//!    address once every store from before a store barrier that it comes after is gone (PSO).
//!
//! A trace (section 2.1 of the report) is, per thread, the accesses in program order, the source of each read, and per
//! address the order of its writes. It is sequentially consistent exactly if po ∪ rf ∪ co ∪ fr has no cycle
//! (proposition 1).
//!
//! Algorithm: depth-first over configurations, each visited once.
//! * Threads are deterministic, so the sources of all reads and the order of all commits so far determine the whole
//!   configuration: program counters, registers, buffers and memory. They are the key; nothing is hashed away.
//! * A cycle of a trace is one of all its continuations, and every configuration can continue until it has no successor
//!   (buffers can always drain). So only configurations without a successor are examined, and they stand for all their
//!   prefixes.
//! * A store that can enter a buffer does so immediately: nobody else sees it, no other step can prevent it, and it prevents
//!   none, so every trace has a run that issues it at that point. (The tests compare with the search without this.)
//!
//! Loops: each thread makes at most [`Limits::max_accesses`] accesses; one that has made them stops, which is a legal
//! prefix. A thread that only waits is cut earlier: [`Limits::max_repeats`].
//!
//! Complexity: exponential; some hundred to some thousand configurations for ten accesses.

mod machine;

pub use machine::Machine;
pub use membar_core::MachineStep as Step;
use membar_core::{Access, AccessKind, Relaxation};
use membar_litmus::Code;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::hash::Hash;

/// A machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Memory {
    /// No buffer.
    Sc,
    /// A first-in first-out buffer per thread.
    Tso,
    /// A first-in first-out buffer per thread and address.
    Pso,
}

impl From<Relaxation> for Memory {
    fn from(machine: Relaxation) -> Memory {
        match machine {
            Relaxation::Tso => Memory::Tso,
            Relaxation::Pso => Memory::Pso,
        }
    }
}

/// Where to stop.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many accesses a thread makes, at most 250.
    pub max_accesses: u8,
    /// How often a thread reads from the same source in the same state (instruction and registers) since it last
    /// wrote. In a waiting loop that goes the same way each round, two rounds that read the same are enough: a third
    /// between them adds no cycle, since an edge into it is also one into the first, and an edge out of it is also one
    /// out of the last. `u8::MAX` leaves it to `max_accesses`.
    pub max_repeats: u8,
    /// How many configurations are visited before the search gives up.
    pub max_configurations: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_accesses: 8, max_repeats: 2, max_configurations: 1_000_000 }
    }
}

/// An event: the access number `index` of `thread`, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Id {
    /// The thread.
    pub thread: u8,
    /// Its place in program order.
    pub index: u8,
}

/// An access that was made.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    /// Its identity.
    pub id: Id,
    /// The access.
    pub access: Access,
    /// Whether it wrote: a compare-exchange may not.
    pub wrote: bool,
    /// For a read, the event whose value it returned; `None` is the initial value. For a store `None`.
    pub source: Option<Id>,
}

/// The events of an execution, without the order of its steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Trace {
    /// Per thread its events in program order.
    pub threads: Vec<Vec<Event>>,
    /// Per address its writes in the order in which they reached memory.
    pub order: Vec<Vec<Id>>,
}

impl Trace {
    /// Whether po ∪ rf ∪ co ∪ fr has no cycle. All writes of the trace have reached memory.
    pub fn is_sequential(&self) -> bool {
        let mut before = Graph::new(self.threads.iter().map(Vec::len));
        for event in self.threads.iter().flatten().filter(|event| event.access.kind.reads()) {
            let order = &self.order[event.access.addr as usize];
            let newer = match event.source {
                Some(source) => {
                    before.edge(source, event.id);
                    1 + order.iter().position(|&write| write == source).expect("a source has reached memory")
                }
                None => 0,
            };
            for &write in order[newer..].iter().filter(|&&write| write != event.id) {
                before.edge(event.id, write);
            }
        }
        for pair in self.threads.iter().flat_map(|events| events.windows(2)) {
            before.edge(pair[0].id, pair[1].id);
        }
        for pair in self.order.iter().flat_map(|order| order.windows(2)) {
            before.edge(pair[0], pair[1]);
        }
        before.is_acyclic()
    }
}

/// A graph over the events of a trace.
struct Graph {
    /// The first event of each thread.
    start: Vec<usize>,
    /// Per event its direct predecessors, as a set.
    before: Vec<u128>,
}

impl Graph {
    fn new(lengths: impl Iterator<Item = usize>) -> Graph {
        let mut events = 0;
        let mut start = Vec::new();
        for length in lengths {
            start.push(events);
            events += length;
        }
        assert!(events < 128, "the oracle takes fewer than 128 events");
        Graph { start, before: vec![0; events] }
    }

    fn edge(&mut self, from: Id, to: Id) {
        let at = |id: Id| self.start[id.thread as usize] + id.index as usize;
        self.before[at(to)] |= 1 << at(from);
    }

    /// Removes events without a predecessor as long as there are any.
    fn is_acyclic(&self) -> bool {
        let mut left = (1u128 << self.before.len()) - 1;
        while left != 0 {
            let first = |&event: &usize| left & (1 << event) != 0 && self.before[event] & left == 0;
            match (0..self.before.len()).find(first) {
                Some(event) => left &= !(1 << event),
                None => return false,
            }
        }
        true
    }
}

/// The search was given up: more configurations than allowed.
struct Exceeded;

/// Depth-first search over configurations.
struct Search<'c> {
    limits: Limits,
    /// Stores enter buffers immediately.
    eager: bool,
    seen: FxHashSet<Box<[u16]>>,
    /// The configurations on the way from the first to the one being visited, and spare ones behind.
    levels: Vec<Machine<'c>>,
    /// The steps between them.
    path: Vec<Step>,
    /// The steps still to be tried, of all levels.
    open: Vec<Step>,
    key: Vec<u16>,
    /// A thread was stopped because it had made as many accesses as allowed.
    cut: bool,
}

impl<'c> Search<'c> {
    fn new(code: &'c Code, model: Memory, limits: &Limits) -> Search<'c> {
        assert!(code.threads.len() < 250 && limits.max_accesses <= 250, "the oracle numbers events in 16 bits");
        Search {
            limits: *limits,
            eager: true,
            seen: FxHashSet::default(),
            levels: vec![Machine::new(code, model)],
            path: Vec::new(),
            open: Vec::new(),
            key: Vec::new(),
            cut: false,
        }
    }

    /// Calls `leaf` with every configuration that has no successor, until it returns true.
    fn run(&mut self, leaf: &mut impl FnMut(&Machine<'c>) -> bool) -> Result<bool, Exceeded> {
        let depth = self.path.len();
        self.levels[depth].key(&mut self.key);
        if self.seen.contains(self.key.as_slice()) {
            return Ok(false);
        }
        if self.seen.len() == self.limits.max_configurations {
            return Err(Exceeded);
        }
        self.seen.insert(self.key.as_slice().into());

        let first = self.open.len();
        self.add_steps(depth);
        if self.open.len() == first {
            return Ok(leaf(&self.levels[depth]));
        }
        while self.open.len() > first {
            let step = self.open.pop().expect("there is one more");
            if self.levels.len() == depth + 1 {
                self.levels.push(self.levels[depth].clone());
            } else {
                let (here, next) = self.levels.split_at_mut(depth + 1);
                next[0].clone_from(&here[depth]);
            }
            self.levels[depth + 1].step(step);
            self.path.push(step);
            if self.run(leaf)? {
                return Ok(true); // and leave the path as it is: it is the example
            }
            self.path.pop();
        }
        Ok(false)
    }

    /// Adds the steps to be tried from the configuration at this depth.
    fn add_steps(&mut self, depth: usize) {
        let first = self.open.len();
        let machine = &self.levels[depth];
        machine.add_steps(&mut self.open);
        let mut kept = first;
        for at in first..self.open.len() {
            let step = self.open[at];
            if let Step::Issue(t) = step {
                let t = t as usize;
                if machine.threads[t].issued == self.limits.max_accesses {
                    self.cut = true;
                    continue;
                }
                if machine.repeats(t) >= self.limits.max_repeats as usize {
                    continue;
                }
                let stores = machine.request(t).is_some_and(|request| request.access.kind == AccessKind::Store);
                if self.eager && stores && machine.model != Memory::Sc {
                    self.open.truncate(first);
                    self.open.push(step);
                    return;
                }
            }
            self.open[kept] = step;
            kept += 1;
        }
        self.open.truncate(kept);
    }
}

/// The findings of [`search`].
#[derive(Clone, Debug)]
pub struct Found {
    /// The steps of an execution whose trace is not sequentially consistent; afterwards all buffers are empty.
    pub violation: Option<Vec<Step>>,
    /// A thread was stopped at [`Limits::max_accesses`], so no violation means none in executions up to that length.
    pub cut: bool,
    /// How many configurations were visited.
    pub configurations: usize,
}

/// Looks for an execution that is not sequentially consistent. `None`: given up.
pub fn search(code: &Code, model: Memory, limits: &Limits) -> Option<Found> {
    find(code, model, limits, true)
}

fn find(code: &Code, model: Memory, limits: &Limits, eager: bool) -> Option<Found> {
    let mut search = Search::new(code, model, limits);
    search.eager = eager;
    let violated = search.run(&mut |machine| !machine.trace().is_sequential()).ok()?;
    let configurations = search.seen.len();
    Some(Found { violation: violated.then_some(search.path), cut: search.cut, configurations })
}

/// Is there an execution that is not sequentially consistent? `None`: given up.
pub fn violations(code: &Code, model: Memory, limits: &Limits) -> Option<bool> {
    Some(search(code, model, limits)?.violation.is_some())
}

/// The traces of all executions that cannot continue, each once. `None`: given up.
pub fn traces(code: &Code, model: Memory, limits: &Limits) -> Option<Vec<Trace>> {
    let mut traces = Vec::new();
    let mut collect = |machine: &Machine<'_>| {
        traces.push(machine.trace());
        false
    };
    Search::new(code, model, limits).run(&mut collect).ok()?;
    Some(traces)
}

/// The values of all registers, thread by thread, and then of all addresses, at the end of every execution in which all
/// threads end. Only [`Limits::max_configurations`] counts: loops end by coming back to a state. `None`: given up.
pub fn finals(code: &Code, model: Memory, limits: &Limits) -> Option<BTreeSet<Vec<u64>>> {
    let mut finals = BTreeSet::new();
    let mut seen = FxHashSet::default();
    let first = Machine::new(code, model);
    seen.insert(first.state());
    let mut open = vec![first];
    while let Some(machine) = open.pop() {
        if machine.is_done() {
            finals.insert(machine.values());
        }
        for step in machine.steps() {
            let mut next = machine.clone();
            next.step(step);
            // Without the past, a loop comes back to where it was.
            next.forget();
            next.threads.iter_mut().for_each(|thread| thread.issued = 0);
            if seen.insert(next.state()) {
                open.push(next);
            }
        }
        if seen.len() > limits.max_configurations {
            return None;
        }
    }
    Some(finals)
}

/// The sequentially consistent executions of a program without loops.
#[derive(Clone, Debug)]
pub struct Classes {
    /// How many orders of steps there are in which every thread runs until it cannot continue.
    pub interleavings: u128,
    /// Their traces. Two interleavings have one trace exactly if they differ in the order of independent steps only.
    pub classes: FxHashSet<Trace>,
}

/// All sequentially consistent executions. `None`: given up, or a thread makes more than [`Limits::max_accesses`].
/// [`Limits::max_repeats`] does not count.
pub fn classes(code: &Code, limits: &Limits) -> Option<Classes> {
    let mut counter = Counter { limits: *limits, counts: FxHashMap::default(), classes: FxHashSet::default() };
    let interleavings = counter.count(&Machine::new(code, Memory::Sc))?;
    Some(Classes { interleavings, classes: counter.classes })
}

struct Counter {
    limits: Limits,
    /// Per configuration how many ways there are to continue to an end.
    counts: FxHashMap<Box<[u16]>, u128>,
    classes: FxHashSet<Trace>,
}

impl Counter {
    fn count(&mut self, machine: &Machine<'_>) -> Option<u128> {
        let mut key = Vec::new();
        machine.key(&mut key);
        if let Some(&count) = self.counts.get(key.as_slice()) {
            return Some(count);
        }
        if machine.threads.iter().any(|thread| thread.issued > self.limits.max_accesses)
            || self.counts.len() >= self.limits.max_configurations
        {
            return None;
        }
        let steps = machine.steps();
        let mut count = u128::from(steps.is_empty());
        if steps.is_empty() {
            self.classes.insert(machine.trace());
        }
        for step in steps {
            let mut next = machine.clone();
            next.step(step);
            count += self.count(&next)?;
        }
        self.counts.insert(key.into(), count);
        Some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Knobs, random_program};
    use membar_simulate::Rng;

    /// Entering buffers immediately and cutting idle rounds change no answer.
    #[test]
    fn reductions_change_nothing() {
        let limits = Limits { max_configurations: 20_000, max_accesses: 7, ..Limits::default() };
        let patient = Limits { max_repeats: u8::MAX, ..limits };
        let (mut compared, mut violated) = (0, 0);
        for seed in 0..400 {
            let code = random_program(&mut Rng::new(seed), &Knobs { total: 8, ..Knobs::ALL });
            for model in [Memory::Sc, Memory::Tso, Memory::Pso] {
                let Some(plain) = find(&code, model, &patient, false) else { continue };
                let plain = plain.violation.is_some();
                compared += 1;
                violated += usize::from(plain);
                assert!(model != Memory::Sc || !plain);
                assert_eq!(violations(&code, model, &limits), Some(plain), "seed {seed} {model:?}");
            }
        }
        assert!(compared > 600 && violated > 100, "{compared} compared, {violated} of them not robust");
    }
}
