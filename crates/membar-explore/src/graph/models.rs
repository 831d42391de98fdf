//! Memory models as predicates over execution graphs, one file each.
//!
//! # Contract
//!
//! A model admits an event that has just been added: it is the last one of its thread, nobody reads from it, and the
//! graph without it is consistent. It answers whether the graph with it is. All four models are *prefix-closed* (a
//! graph without its last event in po ∪ rf is consistent), *extensible* (a read of the last write in co, or a write at
//! the end of co, is always admitted) and have acyclic po ∪ rf: that is what [`super::search`] needs. That nothing
//! comes between a read-modify-write and what it read is seen to there, for all of them.
//!
//! Every new cycle passes the new event; nothing leaves it but fr and co. So an event that leaves no write to its
//! address after it is admitted at once, and otherwise a search from it ([`reach`]) decides. Most are decided before that:
//! an event is refused that has a write in its past which its place says comes later, if the model orders po ∪ rf between
//! threads, and what sequential consistency admits is admitted by each model.

pub mod c11;
mod pso;
mod reach;
mod sc;
mod tso;

pub use reach::Reach;

use super::graph::Graph;
use membar_core::GraphModel;

/// Whether the graph is consistent with its last event `id`.
pub fn admits(model: GraphModel, graph: &Graph, id: u32, reach: &mut Reach) -> bool {
    let by_sc = |reach: &mut Reach| graph.sc[id as usize] && sc::admits(graph, id, reach);
    is_fresh(graph, id)
        && match model {
            GraphModel::Sc => !reach::is_overtaken(graph, id) && by_sc(reach),
            GraphModel::Tso => {
                !reach::is_overtaken(graph, id)
                    && reach::coheres(graph, id)
                    && (by_sc(reach) || tso::admits(graph, id, reach))
            }
            GraphModel::Pso => reach::coheres(graph, id) && pso::admits(graph, id, reach),
            GraphModel::C11 => c11::admits(graph, id, reach),
        }
}

/// Whether the graph, sequentially consistent without its last event, is so with it.
pub fn is_sc(graph: &Graph, id: u32, reach: &mut Reach) -> bool {
    sc::admits(graph, id, reach)
}

/// Of each event the strongly connected component of po ∪ rf ∪ co ∪ fr that it is in: two events are on one cycle if it is the same.
pub fn knots(graph: &Graph) -> Vec<u32> {
    sc::knots(graph)
}

/// Operations on synchronisation objects find the last value there is: po ∪ rf ∪ (rf ∪ co ∪ fr between such operations) is acyclic.
fn is_fresh(graph: &Graph, id: u32) -> bool {
    let event = graph.event(id);
    if !event.access.c11.is_fresh() {
        return true;
    }
    let addr = event.access.addr;
    let place = if event.is_read() { event.source } else { id };
    let (past, later) = (graph.past(id), &graph.co(addr)[graph.position(addr, place)..]);
    let before = |other: u32| {
        let other = graph.event(other);
        past[other.thread as usize] > other.index && (other.thread, other.index) != (event.thread, event.index)
    };
    let read = |&&read: &&u32| later.contains(&graph.event(read).source);
    !later.iter().any(|&write| before(write))
        && !graph.places[addr as usize].reads.iter().filter(read).any(|&read| before(read))
}
