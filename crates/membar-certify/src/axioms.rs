//! The axioms of sc, tso and pso, and of operations on synchronisation objects.
//!
//! Problem: an execution is given as a graph ([`Trace`]). Does the model allow it?
//!
//! Definitions: po, rf, co, fr as in `execution.rs`; ppo and rfe as in `membar-monitor/src/class.rs`, written down once more:
//! * ppo under tso is po without the pairs (store, load), under pso also without (store, store) and (store, interlocked) to
//!   different addresses; except that a full barrier between the two keeps any pair, and a store barrier keeps (store, store) and
//!   (store, interlocked). A compare-exchange that fails is interlocked.
//! * rfe is rf between different threads, or with an interlocked operation at either end.
//!
//! Axioms:
//! * atomicity, every model: a read-modify-write comes in co right after the write that it read;
//! * fresh, every model: po ∪ rf ∪ (co ∪ fr between accesses of operations on synchronisation objects) is acyclic. These never
//!   read a stale value ([`C11::is_fresh`](membar_core::C11::is_fresh)), and so order the threads that use them. It includes no thin air;
//! * sc: po ∪ rf ∪ co ∪ fr is acyclic;
//! * tso, pso: po between accesses to one address ∪ rf ∪ co ∪ fr is acyclic (coherence), and ppo ∪ rfe ∪ co ∪ fr is (memory order);
//! * c11: see [`rc11`](crate::rc11).
//!
//! Algorithm: remove events without a predecessor, as long as there are any; the relation is acyclic iff nothing is left. Of co
//! and fr the first edge of each event is enough, since co leads on from there. Of ppo, all edges are tried up to one
//! that leads to a load or an interlocked operation, because these are ppo before all that follows in their thread.
//!
//! Complexity: linear but for ppo, which is O(n · s) for runs of s stores.
//!
//! Guarantees: shares no code with the monitors, the explorer or the oracle.

use crate::execution::{Event, Graph, Made, NONE, Trace};
use crate::rc11;
use membar_core::{AccessKind, Barrier, GraphModel, Relaxation};
use std::fmt;

/// An axiom of a memory model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axiom {
    /// Nothing comes between a read-modify-write and what it read.
    Atomicity,
    /// Operations on synchronisation objects read no stale value.
    Fresh,
    /// Under sc: po ∪ rf ∪ co ∪ fr is acyclic.
    Sequential,
    /// Under tso and pso: ppo ∪ rfe ∪ co ∪ fr is acyclic.
    MemoryOrder,
    /// Under tso and pso, for each address: po ∪ rf ∪ co ∪ fr is acyclic. Under c11: hb;eco? is irreflexive.
    Coherence,
    /// Under c11: po ∪ rf is acyclic.
    NoThinAir,
    /// Under c11: psc is acyclic.
    Sc,
}

impl fmt::Display for Axiom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Axiom::Atomicity => "a write comes between a read-modify-write and what it read",
            Axiom::Fresh => "an operation on a synchronisation object reads a stale value",
            Axiom::Sequential => "po ∪ rf ∪ co ∪ fr has a cycle",
            Axiom::MemoryOrder => "ppo ∪ rfe ∪ co ∪ fr has a cycle",
            Axiom::Coherence => "a thread goes back in the order of writes to an address",
            Axiom::NoThinAir => "po ∪ rf has a cycle",
            Axiom::Sc => "psc has a cycle",
        })
    }
}

/// Whether the model allows the execution; `None` if that is too much work ([`rc11::MOST`]).
pub(crate) fn check(trace: &Trace, model: GraphModel) -> Option<Result<(), Axiom>> {
    let axioms = Axioms::new(trace);
    let first = match model {
        _ if !axioms.atomic() => Err(Axiom::Atomicity),
        _ if !axioms.fresh() => Err(Axiom::Fresh),
        GraphModel::Sc if !axioms.sequential() => Err(Axiom::Sequential),
        GraphModel::Tso | GraphModel::Pso if !axioms.coherent() => Err(Axiom::Coherence),
        GraphModel::Tso if !axioms.memory_order(Relaxation::Tso) => Err(Axiom::MemoryOrder),
        GraphModel::Pso if !axioms.memory_order(Relaxation::Pso) => Err(Axiom::MemoryOrder),
        _ => Ok(()),
    };
    if first.is_ok() && model == GraphModel::C11 { rc11::check(trace) } else { Some(first) }
}

struct Axioms<'t> {
    made: Vec<&'t Made>,
    graph: Graph,
    /// The number of the first event of each thread.
    start: Vec<usize>,
    /// For each event that writes its place in co.
    place: Vec<usize>,
}

impl<'t> Axioms<'t> {
    fn new(trace: &'t Trace) -> Axioms<'t> {
        let mut start = vec![0];
        start.extend(trace.threads.iter().scan(0, |end, made| {
            *end += made.len();
            Some(*end)
        }));
        let made: Vec<&Made> = trace.threads.iter().flatten().collect();
        let place = vec![usize::MAX; made.len()];
        let mut axioms = Axioms { made, graph: Graph::new(trace), start, place };
        for (place, &write) in trace.order.iter().flat_map(|order| order.iter().enumerate()) {
            let number = axioms.number(write);
            axioms.place[number] = place;
        }
        axioms
    }

    fn number(&self, event: Event) -> usize {
        self.start[event.thread as usize] + event.index as usize
    }

    fn same_thread(&self, i: usize, j: usize) -> bool {
        self.graph.events[i].thread == self.graph.events[j].thread
    }

    /// The events after this one in its thread, in order.
    fn later(&self, i: usize) -> impl Iterator<Item = usize> {
        (i + 1..self.made.len()).take_while(move |&j| self.same_thread(i, j))
    }

    fn atomic(&self) -> bool {
        self.made.iter().enumerate().all(|(i, made)| {
            let (Some(read), Some(_)) = (made.read, made.wrote) else { return true };
            self.place[i] == read.source.map_or(0, |source| self.place[self.number(source)] + 1)
        })
    }

    fn fresh(&self) -> bool {
        let fresh = |i: u32| self.made[i as usize].access.c11.is_fresh();
        // The first fresh write from this one on.
        let first = |mut i: u32| {
            while i != NONE && !fresh(i) {
                i = self.graph.co[i as usize];
            }
            i
        };
        is_acyclic(self.made.len(), |i, take| {
            take(self.graph.po[i]);
            self.graph.readers(i).iter().for_each(|&reader| take(reader));
            if fresh(i as u32) {
                take(first(self.graph.co[i]));
                take(first(self.graph.fr[i]));
            }
        })
    }

    fn sequential(&self) -> bool {
        is_acyclic(self.made.len(), |i, take| {
            take(self.graph.po[i]);
            self.graph.readers(i).iter().for_each(|&reader| take(reader));
            take(self.graph.co[i]);
            take(self.graph.fr[i]);
        })
    }

    fn coherent(&self) -> bool {
        let next = self.next_at_address();
        is_acyclic(self.made.len(), |i, take| {
            take(next[i]);
            self.graph.readers(i).iter().for_each(|&reader| take(reader));
            take(self.graph.co[i]);
            take(self.graph.fr[i]);
        })
    }

    /// For each event the next one of its thread at its address.
    fn next_at_address(&self) -> Vec<u32> {
        let mut last = std::collections::HashMap::new();
        let mut next = vec![NONE; self.made.len()];
        for (i, made) in self.made.iter().enumerate() {
            let place = (self.graph.events[i].thread, made.access.addr);
            if let Some(before) = last.insert(place, i) {
                next[before] = i as u32;
            }
        }
        next
    }

    fn memory_order(&self, model: Relaxation) -> bool {
        let kind = |i: usize| self.made[i].access.kind;
        let interlocked = |i: usize| kind(i) == AccessKind::Rmw;
        is_acyclic(self.made.len(), |i, take| {
            let mut barrier = Barrier::None;
            for j in self.later(i) {
                barrier = barrier.max(self.made[j].access.barrier);
                if self.keeps(model, i, barrier, j) {
                    take(j as u32);
                    if kind(j) != AccessKind::Store {
                        break;
                    }
                }
            }
            for &reader in self.graph.readers(i) {
                let j = reader as usize;
                if !self.same_thread(i, j) || interlocked(i) || interlocked(j) {
                    take(reader);
                }
            }
            take(self.graph.co[i]);
            take(self.graph.fr[i]);
        })
    }

    /// ppo, for two events of a thread with this as the strongest barrier between them.
    fn keeps(&self, model: Relaxation, i: usize, barrier: Barrier, j: usize) -> bool {
        let (one, other) = (self.made[i].access, self.made[j].access);
        if one.kind != AccessKind::Store || barrier == Barrier::Full {
            return true;
        }
        let stays = model == Relaxation::Tso || one.addr == other.addr || barrier == Barrier::Store;
        other.kind != AccessKind::Load && stays
    }
}

/// Whether a relation between this many events is acyclic. `edges` lists the successors of an event; [`NONE`] stands for no successor.
fn is_acyclic(events: usize, edges: impl Fn(usize, &mut dyn FnMut(u32))) -> bool {
    let mut before = vec![0u32; events];
    for i in 0..events {
        edges(i, &mut |to| {
            if to != NONE {
                before[to as usize] += 1;
            }
        });
    }
    let mut open: Vec<usize> = (0..events).filter(|&i| before[i] == 0).collect();
    let mut removed = 0;
    while let Some(i) = open.pop() {
        removed += 1;
        edges(i, &mut |to| {
            if to != NONE {
                before[to as usize] -= 1;
                if before[to as usize] == 0 {
                    open.push(to as usize);
                }
            }
        });
    }
    removed == events
}
