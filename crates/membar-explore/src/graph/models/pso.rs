//! PSO: as TSO ([`super::tso`]), but ppo is also without the pairs (store, store) and (store, interlocked) to different addresses that no
//! barrier stands between.

use super::{Reach, tso::is_external};
use crate::graph::graph::{Event, Graph};
use membar_core::Barrier;

pub fn admits(graph: &Graph, id: u32, reach: &mut Reach) -> bool {
    !reach.is_cyclic(graph, id, ordered, is_external)
}

/// Adds events after this one in ppo: enough of them that all others are after these.
fn ordered(graph: &Graph, event: &Event, next: &mut Vec<u32>) {
    let store = event.is_write() && !event.is_interlocked();
    let (mut full, mut barrier) = (!store, !store);
    for &id in &graph.threads[event.thread as usize][event.index as usize + 1..] {
        let later = graph.event(id);
        full |= later.access.barrier == Barrier::Full;
        barrier |= later.access.barrier >= Barrier::Store;
        let stores = later.is_write() && !later.is_interlocked();
        let same = later.access.addr == event.access.addr;
        let ordered = full || (stores || later.is_interlocked()) && (barrier || same);
        if !ordered {
            continue;
        }
        next.push(id);
        // What is ordered with a load, or by an interlocked operation, is ordered with everything after it.
        if !stores {
            break;
        }
    }
}
