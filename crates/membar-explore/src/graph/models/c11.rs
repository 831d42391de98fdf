//! RC11 (Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI 2017) with the release sequences of C++20.
//!
//! With rs = [W];(rf;[RMW])\* and sw = [≥rel];([F];po)?;rs;rf;[R];(po;[F])?;[≥acq] between atomic accesses, hb = (po ∪ sw)⁺ and
//! eco = (rf ∪ co ∪ fr)⁺:
//!
//! * *coherence*: hb;eco? is irreflexive;
//! * *no thin air*: po ∪ rf is acyclic, which holds of every graph here;
//! * *sc*: psc is acyclic, where scb = po ∪ (po≠loc;hb;po≠loc) ∪ hb|loc ∪ co ∪ fr and
//!   psc = ([SC] ∪ [Fsc];hb?);scb;([SC] ∪ hb?;[Fsc]) ∪ [Fsc];(hb ∪ hb;eco;hb);[Fsc]. Fences have no location: each pair with a fence,
//!   of whatever kind, is in po≠loc.
//!
//! A fence belongs to the access after it: it has the place 2i of its thread, access i the place 2i + 1. A clock says for each thread
//! how many places are before. Each event has five clocks: what happens before it (with it), what an acquire fence after it would
//! add, what the last release fence released, what a reader of it acquires, and what happens before the fence in front of it.
//!
//! Coherence of the last event e: no write after its place in co, and no reader of one, happens before e. If the whole graph is
//! sequentially consistent, psc is acyclic, because psc ⊆ (po ∪ rf ∪ co ∪ fr)⁺; otherwise it is computed. A cycle of psc that was not
//! there before needs an edge out of e, hence a write after its place.

use super::{Reach, sc};
use crate::graph::graph::{Event, Graph, INIT, What};
use membar_core::{Fence, Order};

const HB: usize = 0;
const PENDING: usize = 1;
const RELEASED: usize = 2;
const MESSAGE: usize = 3;
const FENCED: usize = 4;
const CLOCKS: usize = 5;

/// How many numbers the clocks of an event are.
pub fn stride(threads: usize) -> usize {
    CLOCKS * threads
}

fn row(graph: &Graph, id: u32, clock: usize) -> &[u32] {
    let threads = graph.threads.len();
    &graph.clocks[id as usize * stride(threads) + clock * threads..][..threads]
}

/// Computes the clocks of the last event.
pub fn clock(graph: &mut Graph, id: u32) {
    let threads = graph.threads.len();
    let event = graph.events[id as usize];
    let own = event.thread as usize;
    let from = graph.clocks.len();
    graph.clocks.resize(from + stride(threads), 0);
    let at = |clock: usize| from + clock * threads;
    let index = event.index as usize;
    if index > 0
        && let Some(&before) = graph.threads[own].get(index - 1)
    {
        let before = before as usize * stride(threads);
        for clock in [HB, PENDING, RELEASED] {
            graph.clocks.copy_within(before + clock * threads..before + (clock + 1) * threads, at(clock));
        }
    }
    if event.what == What::Wait {
        return;
    }
    let clocks = &mut graph.clocks;
    let join = |clocks: &mut Vec<u32>, into: usize, other: usize| {
        for t in 0..threads {
            clocks[into + t] = clocks[into + t].max(clocks[other + t]);
        }
    };
    let place = 2 * event.index;
    for part in fence(&event).parts() {
        clocks[at(HB) + own] = place + 1;
        if part.acquires() {
            join(clocks, at(HB), at(PENDING));
        }
        if part.releases() {
            clocks.copy_within(at(HB)..at(HB) + threads, at(RELEASED));
        }
    }
    clocks.copy_within(at(HB)..at(HB) + threads, at(FENCED));
    clocks[at(HB) + own] = place + 2;
    match event.what {
        What::Read if event.source != INIT && event.order.is_atomic() => {
            let source = event.source as usize * stride(threads) + MESSAGE * threads;
            join(clocks, if event.order.acquires() { at(HB) } else { at(PENDING) }, source);
        }
        What::Write if event.order.is_atomic() => {
            clocks.copy_within(at(RELEASED)..at(RELEASED) + threads, at(MESSAGE));
            if event.order.releases() {
                join(clocks, at(MESSAGE), at(HB));
            }
            if event.paired {
                let read = graph.threads[own][index - 1];
                let source = graph.events[read as usize].source;
                if source != INIT {
                    join(clocks, at(MESSAGE), source as usize * stride(threads) + MESSAGE * threads);
                }
            }
        }
        _ => {}
    }
}

/// Whether one access happens before another one, which is not it.
pub fn happens_before(graph: &Graph, one: u32, other: u32) -> bool {
    let event = graph.event(one);
    row(graph, other, HB)[event.thread as usize] >= 2 * event.index + 2
}

pub fn admits(graph: &Graph, id: u32, reach: &mut Reach) -> bool {
    let event = graph.event(id);
    let addr = event.access.addr;
    let place = match event.what {
        What::Read => graph.position(addr, event.source),
        What::Write => graph.position(addr, id),
        What::Choice | What::Wait => return true,
    };
    let later = &graph.co(addr)[place..];
    if later.is_empty() {
        return true;
    }
    let before = |&other: &u32| other != id && happens_before(graph, other, id);
    if later.iter().any(before) {
        return false;
    }
    let reads = &graph.places[addr as usize].reads;
    if reads.iter().filter(|&&read| later.contains(&graph.event(read).source)).any(before) {
        return false;
    }
    let orders = graph.events.iter().filter(|event| is_sc(event) || fence(event) == Fence::SeqCst);
    orders.take(2).count() < 2
        || graph.sc[..id as usize].last().is_none_or(|&sc| sc) && sc::admits(graph, id, reach)
        || Psc::new(graph).is_acyclic()
}

fn is_sc(event: &Event) -> bool {
    event.order == Order::SeqCst && matches!(event.what, What::Read | What::Write)
}

/// The fence in front of an event. The write of a read-modify-write comes right after its read.
fn fence(event: &Event) -> Fence {
    if event.is_write() && event.paired || event.what == What::Wait { Fence::None } else { event.access.c11.fence() }
}

/// Sets of events, one row of words for each.
struct Rows {
    words: usize,
    bits: Vec<u64>,
}

impl Rows {
    fn new(rows: usize, columns: usize) -> Rows {
        let words = columns.div_ceil(64);
        Rows { words, bits: vec![0; rows * words] }
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..][..self.words]
    }

    fn set(&mut self, row: usize, column: usize) {
        self.bits[row * self.words + column / 64] |= 1 << (column % 64);
    }

    fn join(&mut self, row: usize, other: &[u64]) {
        self.bits[row * self.words..][..self.words].iter_mut().zip(other).for_each(|(to, from)| *to |= from);
    }
}

fn each(set: &[u64], mut work: impl FnMut(usize)) {
    for (word, &bits) in set.iter().enumerate() {
        let mut left = bits;
        while left != 0 {
            work(64 * word + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

/// The relation psc of a graph. Nodes are accesses, by their ids, and after them the fences.
struct Psc {
    /// Nodes of psc: accesses and fences that are seq_cst.
    nodes: Vec<usize>,
    relation: Rows,
}

impl Psc {
    fn new(graph: &Graph) -> Psc {
        let accesses = graph.len();
        let fences: Vec<u32> = (0..accesses as u32).filter(|&id| fence(graph.event(id)) != Fence::None).collect();
        let all = accesses + fences.len();
        let is_access = |id: usize| matches!(graph.events[id].what, What::Read | What::Write | What::Choice);
        let addr = |node: usize| {
            (node < accesses && graph.events[node].what != What::Choice).then(|| graph.events[node].access.addr)
        };
        // Thread and place of each node, and what happens before it.
        let place = |node: usize| {
            let event = &graph.events[if node < accesses { node } else { fences[node - accesses] as usize }];
            (event.thread as usize, 2 * event.index + u32::from(node < accesses))
        };
        let clock = |node: usize| {
            if node < accesses { row(graph, node as u32, HB) } else { row(graph, fences[node - accesses], FENCED) }
        };
        let present: Vec<usize> = (0..all).filter(|&node| node >= accesses || is_access(node)).collect();
        let (mut hb, mut po) = (Rows::new(all, all), Rows::new(all, all));
        for &one in &present {
            let (thread, at) = place(one);
            for &other in &present {
                let (other_thread, other_at) = place(other);
                if one != other && clock(other)[thread] > at {
                    hb.set(one, other);
                }
                if thread == other_thread && at < other_at {
                    po.set(one, other);
                }
            }
        }
        let apart = |one: usize, other: usize| addr(one).is_none() || addr(one) != addr(other);
        let mut po_apart = Rows::new(all, all);
        for &one in &present {
            each(po.row(one), |other| {
                if apart(one, other) {
                    po_apart.set(one, other);
                }
            });
        }
        // co and fr, and eco from each node.
        let (mut scb, mut eco) = (Rows::new(all, all), Rows::new(all, all));
        for place in &graph.places {
            for (at, &write) in place.co.iter().enumerate() {
                for &later in &place.co[at + 1..] {
                    scb.set(write as usize, later as usize);
                }
            }
            for &read in &place.reads {
                let event = graph.event(read);
                for &later in &place.co[graph.position(event.access.addr, event.source)..] {
                    // The write of the same operation is not after its read in fr.
                    let own = graph.event(later);
                    if !(event.paired && own.thread == event.thread && own.index == event.index + 1) {
                        scb.set(read as usize, later as usize);
                    }
                }
            }
            let readers = |write: u32| place.reads.iter().filter(move |&&read| graph.event(read).source == write);
            let mut after = |from: usize, later: &[u32]| {
                for &write in later {
                    eco.set(from, write as usize);
                    readers(write).for_each(|&read| eco.set(from, read as usize));
                }
            };
            for (at, &write) in place.co.iter().enumerate() {
                after(write as usize, &place.co[at + 1..]);
            }
            for &read in &place.reads {
                let event = graph.event(read);
                after(read as usize, &place.co[graph.position(event.access.addr, event.source)..]);
            }
            for &write in &place.co {
                readers(write).for_each(|&read| eco.set(write as usize, read as usize));
            }
        }
        for &one in &present {
            scb.join(one, po.row(one));
            each(hb.row(one), |other| {
                if addr(one).is_some() && addr(one) == addr(other) {
                    scb.set(one, other);
                }
            });
            let (mut reached, mut ends) = (vec![0; hb.words], vec![0; hb.words]);
            each(po_apart.row(one), |middle| reached.iter_mut().zip(hb.row(middle)).for_each(|(to, from)| *to |= from));
            each(&reached, |middle| ends.iter_mut().zip(po_apart.row(middle)).for_each(|(to, from)| *to |= from));
            scb.join(one, &ends);
        }
        let orders = |node: usize| match node.checked_sub(accesses) {
            Some(at) => fence(graph.event(fences[at])) == Fence::SeqCst,
            None => is_sc(&graph.events[node]),
        };
        let nodes: Vec<usize> = present.iter().copied().filter(|&node| orders(node)).collect();
        let mut relation = Rows::new(all, all);
        let mut from = vec![0u64; hb.words];
        for &one in &nodes {
            // ([SC] ∪ [Fsc];hb?)
            from.fill(0);
            from[one / 64] |= 1 << (one % 64);
            if one >= accesses {
                from.iter_mut().zip(hb.row(one)).for_each(|(to, more)| *to |= more);
            }
            let mut reached = vec![0; hb.words];
            each(&from, |start| reached.iter_mut().zip(scb.row(start)).for_each(|(to, more)| *to |= more));
            // ([SC] ∪ hb?;[Fsc])
            let mut then = reached.clone();
            each(&reached, |middle| then.iter_mut().zip(hb.row(middle)).for_each(|(to, more)| *to |= more));
            let mut both = vec![0; hb.words];
            if one >= accesses {
                let mut by_eco = vec![0; hb.words];
                each(hb.row(one), |a| by_eco.iter_mut().zip(eco.row(a)).for_each(|(to, more)| *to |= more));
                each(&by_eco, |b| both.iter_mut().zip(hb.row(b)).for_each(|(to, more)| *to |= more));
                both.iter_mut().zip(hb.row(one)).for_each(|(to, more)| *to |= more);
            }
            for &other in &nodes {
                let has = |set: &[u64]| set[other / 64] >> (other % 64) & 1 != 0;
                let related = if other >= accesses { has(&then) || has(&both) } else { has(&reached) };
                if related {
                    relation.set(one, other);
                }
            }
        }
        Psc { nodes, relation }
    }

    /// Takes away nodes without a successor, as long as there are any.
    fn is_acyclic(&self) -> bool {
        let mut left = self.nodes.clone();
        let mut present = vec![0u64; self.relation.words];
        left.iter().for_each(|&node| present[node / 64] |= 1 << (node % 64));
        loop {
            let before = left.len();
            left.retain(|&node| {
                let stays = self.relation.row(node).iter().zip(&present).any(|(to, present)| to & present != 0);
                if !stays {
                    present[node / 64] &= !(1 << (node % 64));
                }
                stays
            });
            if left.is_empty() {
                return true;
            }
            if left.len() == before {
                return false;
            }
        }
    }
}
