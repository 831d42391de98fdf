//! TSO: ppo ∪ rfe ∪ co ∪ fr is acyclic, and no event contradicts an earlier one of its thread and address.
//!
//! * ppo is po without the pairs (store, load) that no full barrier and no interlocked operation stands between. An interlocked
//!   operation, one that fails included, is ordered with everything.
//! * rfe is rf between different threads, or with an interlocked operation at either end: a thread that reads what is in its own buffer
//!   learns nothing about memory.
//!
//! A path of po ∪ rf from a write to an event of another thread is one of ppo ∪ rfe: it comes to each thread at a read, which ppo puts
//! before all that follows, and leaves the first one at a write, which ppo puts behind the one that it begins with.

use super::Reach;
use crate::graph::graph::{Event, Graph};
use membar_core::Barrier;

pub fn admits(graph: &Graph, id: u32, reach: &mut Reach) -> bool {
    !reach.is_cyclic(graph, id, ordered, is_external)
}

/// The relation rfe.
pub(super) fn is_external(write: &Event, read: &Event) -> bool {
    write.thread != read.thread || write.is_interlocked() || read.is_interlocked()
}

/// Adds events after this one in ppo: enough of them that all others are after these.
fn ordered(graph: &Graph, event: &Event, next: &mut Vec<u32>) {
    let store = event.is_write() && !event.is_interlocked();
    let mut full = !store;
    for &id in &graph.threads[event.thread as usize][event.index as usize + 1..] {
        let later = graph.event(id);
        full |= later.access.barrier == Barrier::Full;
        let stores = later.is_write() && !later.is_interlocked();
        if !full && !stores && !later.is_interlocked() {
            continue;
        }
        next.push(id);
        // A store passes on what it is ordered with to stores only.
        if !stores || !full {
            break;
        }
    }
}
