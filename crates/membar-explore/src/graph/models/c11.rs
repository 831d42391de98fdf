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

mod psc;

use super::{Reach, sc};
use crate::graph::graph::{Event, Graph, INIT, What};
use membar_core::{Fence, Order};
use psc::Psc;

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
