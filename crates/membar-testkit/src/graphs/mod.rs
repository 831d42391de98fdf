//! All execution graphs of a program under sc, tso, pso and rc11, straight from the axioms.
//!
//! Problem: which complete executions does a model allow a program ([`Code`]) to have, how many are there, how do they end,
//! and how many of them are sequentially consistent? This is what explorers of execution graphs are compared with.
//!
//! An execution is a graph. Its events are accesses; a read-modify-write is one event, and a compare-exchange that fails is a
//! read. The first write of a location is no event. Two executions are the same if they have, for each thread, the same events
//! in the same order (po), the same write for each read (rf), and the same order of writes for each location (co). Values need
//! no comparing: threads are deterministic, so what all reads read determines them. fr leads from a read to the writes that
//! are co-after the one it reads, itself excepted.
//!
//! # Axioms
//!
//! Every model has
//! * **atomicity**: fr;co is irreflexive. Nothing is between a read-modify-write and the write it reads, because it reads and
//!   writes in one step.
//!
//! **sc**: po ∪ rf ∪ co ∪ fr is acyclic. There is one order of all accesses, in which each read reads the latest write.
//!
//! **tso** and **pso** ([`Memory`]) are machines with store buffers: there is an order in which loads and read-modify-writes
//! take place and stores reach memory. So
//! * **order**: ppo ∪ rfe ∪ co ∪ fr is acyclic. co is the order in which stores reach memory. A read of another thread's write
//!   (rfe) finds it in memory, hence after it; a read of the thread's own write may find it in the buffer, before it reaches
//!   memory, so rf within a thread is not in it. Until the next write reaches memory the read has taken place (fr): so has one
//!   that found its own thread's write in the buffer, since stores of one thread and location do not overtake.
//! * **coherence**: po∩loc ∪ rf ∪ co ∪ fr is acyclic. A thread finds its own latest store in its buffer, never an older value:
//!   this is where a store before a load of its location counts, which ppo leaves out.
//!
//! ppo has the pairs of a thread that memory sees in program order:
//! * a load or a read-modify-write before anything: it takes place where it stands, and what follows waits for it. That
//!   includes a compare-exchange that fails, which is interlocked too;
//! * a store before a load only across a full barrier: it may be in the buffer when the load takes place;
//! * a store before a store or a read-modify-write: under tso always, since one buffer keeps them in order, and a
//!   read-modify-write waits until it is empty; under pso if they access one location (each location has a buffer), or across a
//!   store barrier or full barrier.
//!
//! Where rf within a thread has a read-modify-write at an end, ppo has the pair, so it need not be called rfe. Memory orders
//! of C11 come as barriers here: the front end puts a full barrier behind a seq_cst store and at a seq_cst fence, and a store
//! barrier before a releasing access and at a release fence.
//!
//! **rc11**: the axioms of [`rc11`].
//!
//! # Algorithm
//!
//! A graph grows by one access at a time. Every thread is tried; a read reads every write that is there, a write goes to every
//! place in co, a read-modify-write right behind what it reads. A thread that is about to store does so before others are tried:
//! nothing that the others do can change the store, so all graphs that have it can still be built. Whatever breaks an axiom is
//! dropped: no relation loses a pair
//! when a graph grows, so all that it grows into breaks the axiom as well. In every model po ∪ rf is acyclic (tso and
//! pso: between entering a thread by rfe at a read and leaving it by rfe at a write, ppo has the pair). So a graph can be built in
//! an order in which reads come after what they read, and none is missed. A graph that was built before, in another order, is
//! dropped too.
//!
//! # Loops
//!
//! A program with a loop may have infinitely many graphs. [`count`] gives up on it. [`count_awaiting`] leaves out graphs with
//! an *idle round*: a thread comes to an instruction with the registers that matter there as they were when it was there
//! before, and has only read since (a compare-exchange that fails only reads). Without the round, the graph is consistent too
//! and ends in the same state: the round's events are the source of nothing, and a relation over fewer events has fewer pairs.
//! So no final state is lost; a loop that waits is an await, and has a graph for each write that ends it. A
//! thread that waits forever has no complete graph.
//!
//! # Complexity
//!
//! Exponential in time and memory; ten accesses have some thousand graphs, at some microseconds each.
//!
//! # References
//!
//! Alglave, Maranget, Tautschnig: Herding cats, TOPLAS 2014 (tso and pso as axioms). Lahav, Vafeiadis, Kang, Hur, Dreyer:
//! Repairing sequential consistency in C/C++11, PLDI 2017. Kokologiannakis, Marmanis, Gladstein, Vafeiadis: Truly stateless,
//! optimal dynamic partial order reduction, POPL 2022 (which graphs an explorer has to visit, each once).

mod buffers;
mod graph;
mod idle;
pub(crate) mod relations;

use crate::programs::{Memory, Trace};
use crate::rc11;
pub(crate) use graph::Graph;
use graph::Key;
use idle::Idle;
use membar_litmus::{Code, Settled};
use relations::Relations;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// A model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Model {
    /// A machine: sequential consistency, TSO or PSO.
    Machine(Memory),
    /// C11 as repaired, [`rc11`].
    Rc11,
}

impl Model {
    /// Sequential consistency.
    pub const SC: Model = Model::Machine(Memory::Sc);
    /// One store buffer per thread.
    pub const TSO: Model = Model::Machine(Memory::Tso);
    /// One store buffer per thread and address.
    pub const PSO: Model = Model::Machine(Memory::Pso);
    /// All of them.
    pub const ALL: [Model; 4] = [Model::SC, Model::TSO, Model::PSO, Model::Rc11];
}

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many graphs are looked at, partial and inconsistent ones included.
    pub graphs: usize,
    /// How many accesses a thread may make.
    pub accesses: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { graphs: 1_000_000, accesses: 12 }
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GaveUp {
    /// There are more graphs than [`Limits::graphs`].
    Graphs,
    /// A thread makes more accesses than [`Limits::accesses`], or there are more than 64 events.
    Accesses,
    /// A thread crashes, or runs on without an access.
    Stuck,
}

/// The complete graphs of a program: those in which all threads have ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graphs {
    /// How many there are.
    pub complete: usize,
    /// How many of them are sequentially consistent.
    pub sc: usize,
    /// The final states: the values of all registers, thread by thread, and then of all addresses.
    pub states: BTreeSet<Vec<u64>>,
    /// Those of sequentially consistent graphs.
    pub sc_states: BTreeSet<Vec<u64>>,
}

/// Counts the complete graphs of a program.
pub fn count(code: &Code, model: Model, limits: &Limits) -> Result<Graphs, GaveUp> {
    counted(code, model, limits, Loops::GiveUp)
}

/// The same without graphs in which a thread makes an idle round of a loop.
pub fn count_awaiting(code: &Code, model: Model, limits: &Limits) -> Result<Graphs, GaveUp> {
    counted(code, model, limits, Loops::Await)
}

/// Counts the graphs of a program whose accesses may block: `blocks` says whether one, by its instruction, cannot be made with a value. A graph is
/// complete if each thread has ended, or stands before an access that the last value there blocks. The number of graphs, and how many of them are
/// sequentially consistent.
pub fn count_blocking(
    code: &Code,
    model: Model,
    limits: &Limits,
    blocks: impl Fn(u32, u64) -> bool,
) -> Result<(usize, usize), GaveUp> {
    let (mut complete, mut sc) = (0, 0);
    grow(code, limits, Loops::GiveUp, |Grown { graph, .. }| {
        if !graph.was_let(&blocks) {
            return Ok(false);
        }
        let events = graph.events()?;
        let relations = Relations::new(&events);
        let (ended, sequential) = (graph.has_ended(&blocks), relations.is_sequential());
        let consistent = is_consistent(relations, model);
        if consistent && ended {
            complete += 1;
            sc += usize::from(sequential);
        }
        Ok(consistent)
    })?;
    Ok((complete, sc))
}

/// The complete graphs of a program, each once, in no particular order.
pub fn all(code: &Code, model: Model, limits: &Limits) -> Result<Vec<Trace>, GaveUp> {
    let mut traces = Vec::new();
    each(code, model, limits, Loops::GiveUp, |graph, _| traces.push(graph.trace()))?;
    Ok(traces)
}

fn counted(code: &Code, model: Model, limits: &Limits, loops: Loops) -> Result<Graphs, GaveUp> {
    let mut graphs = Graphs::default();
    each(code, model, limits, loops, |graph, sequential| {
        let state = graph.state();
        graphs.complete += 1;
        if sequential {
            graphs.sc += 1;
            graphs.sc_states.insert(state.clone());
        }
        graphs.states.insert(state);
    })?;
    Ok(graphs)
}

/// Calls `found` with each complete graph, and whether it is sequentially consistent.
fn each(
    code: &Code,
    model: Model,
    limits: &Limits,
    loops: Loops,
    mut found: impl FnMut(&Graph<'_>, bool),
) -> Result<(), GaveUp> {
    grow(code, limits, loops, |Grown { graph, complete }| {
        let events = graph.events()?;
        let relations = Relations::new(&events);
        let sequential = complete && relations.is_sequential();
        let consistent = is_consistent(relations, model);
        assert!(consistent || !sequential, "every model allows what SC allows");
        if consistent && complete {
            found(graph, sequential);
        }
        Ok(consistent)
    })?;
    Ok(())
}

fn is_consistent(relations: Relations<'_>, model: Model) -> bool {
    match model {
        Model::Machine(memory) => buffers::is_consistent(&relations, memory),
        Model::Rc11 => rc11::is_consistent(relations),
    }
}

/// What to do where there may be infinitely many graphs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loops {
    /// Give up.
    GiveUp,
    /// Leave out graphs with an idle round.
    Await,
    /// Stay within the limits.
    Beginnings,
}

/// A graph that was grown.
#[derive(Clone, Copy)]
pub(crate) struct Grown<'g, 'c> {
    pub(crate) graph: &'g Graph<'c>,
    /// All threads have ended.
    pub(crate) complete: bool,
}

/// Grows all graphs of a program, each once, as long as `keep` says so. How many there were.
pub(crate) fn grow(
    code: &Code,
    limits: &Limits,
    loops: Loops,
    mut keep: impl FnMut(Grown<'_, '_>) -> Result<bool, GaveUp>,
) -> Result<usize, GaveUp> {
    let idle = (loops == Loops::Await).then(|| Idle::new(code));
    let mut seen: FxHashSet<Key> = FxHashSet::default();
    let mut open = vec![Graph::new(code)];
    while let Some(graph) = open.pop() {
        if idle.as_ref().is_some_and(|idle| graph.is_idle(idle)) || !seen.insert(graph.key()) {
            continue;
        }
        if seen.len() > limits.graphs {
            match loops {
                Loops::Beginnings => break,
                Loops::GiveUp | Loops::Await => return Err(GaveUp::Graphs),
            }
        }
        let mut complete = true;
        for t in 0..code.threads.len() {
            match graph.next(t) {
                Settled::Done => {}
                Settled::Request(_) if graph.made(t) == limits.accesses && loops != Loops::Beginnings => {
                    return Err(GaveUp::Accesses);
                }
                Settled::Request(_) => complete = false,
                Settled::Crash(_) | Settled::Endless | Settled::Long => return Err(GaveUp::Stuck),
            }
        }
        if !keep(Grown { graph: &graph, complete })? {
            continue;
        }
        let may_grow = |&t: &usize| graph.made(t) < limits.accesses;
        let mut threads: Vec<usize> = (0..code.threads.len()).filter(may_grow).collect();
        if let Some(&storing) = threads.iter().find(|&&t| graph.stores_next(t)) {
            threads = vec![storing];
        }
        threads.into_iter().for_each(|t| graph.grow(t, &mut open));
    }
    Ok(seen.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Knobs, random_program};
    use membar_core::Rng;

    /// Dropping inconsistent graphs before they are complete changes no answer.
    #[test]
    fn pruning_changes_nothing() {
        let limits = Limits { graphs: 8_000, ..Limits::default() };
        let (mut compared, mut weak) = (0, 0);
        for seed in 0..200 {
            let code = random_program(&mut Rng::new(seed), &Knobs { total: 6, ..Knobs::LOOP_FREE });
            for memory in [Memory::Sc, Memory::Tso, Memory::Pso] {
                let mut plain = Graphs::default();
                let tested = grow(&code, &limits, Loops::GiveUp, |Grown { graph, complete }| {
                    let events = graph.events()?;
                    let relations = Relations::new(&events);
                    if complete && buffers::is_consistent(&relations, memory) {
                        plain.complete += 1;
                        plain.states.insert(graph.state());
                        if relations.is_sequential() {
                            plain.sc += 1;
                            plain.sc_states.insert(graph.state());
                        }
                    }
                    Ok(true)
                });
                if tested.is_err() {
                    continue;
                }
                let answer = count(&code, Model::Machine(memory), &limits).expect("there are fewer graphs");
                assert_eq!(answer, plain, "seed {seed}, {memory:?}");
                compared += 1;
                weak += usize::from(answer.sc < answer.complete);
            }
        }
        assert!(compared > 400 && weak > 20, "{compared} compared, {weak} not robust");
    }
}
