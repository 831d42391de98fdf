//! Sequential consistency: po ∪ rf ∪ co ∪ fr is acyclic.

use super::Reach;
use crate::graph::graph::Graph;

pub fn admits(graph: &Graph, id: u32, reach: &mut Reach) -> bool {
    let next = |graph: &Graph, event: &crate::graph::graph::Event, next: &mut Vec<u32>| {
        next.extend(graph.threads[event.thread as usize].get(event.index as usize + 1));
    };
    !reach.is_cyclic(graph, id, next, |_, _| true)
}
