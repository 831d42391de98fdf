//! Sequential consistency: po ∪ rf ∪ co ∪ fr is acyclic.

use super::Reach;
use crate::graph::graph::{Event, Graph};

pub fn admits(graph: &Graph, id: u32, reach: &mut Reach) -> bool {
    !reach.is_cyclic(graph, id, next, |_, _| true)
}

/// Whether the relation leads from one event to another one.
pub fn leads(graph: &Graph, from: u32, to: u32, reach: &mut Reach) -> bool {
    reach.leads(graph, from, to, next, |_, _| true)
}

fn next(graph: &Graph, event: &Event, next: &mut Vec<u32>) {
    next.extend(graph.threads[event.thread as usize].get(event.index as usize + 1));
}
