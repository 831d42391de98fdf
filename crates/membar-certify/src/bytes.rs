//! Whether an execution is sequentially consistent whose accesses have some bytes in common and not others.
//!
//! Problem: as in `execution.rs`, but rf, co and fr relate accesses by byte. A read of several bytes may have several sources.
//!
//! Algorithm: for each byte of each address, take the writes to it in the order of the address. A read finds, in each of its bytes, the
//! last own write to it that had not reached memory yet, else the last one up to [`Read::memory`]. All relations become
//! edges, each order as its immediate successors. From each event on a cycle, search breadth first for the way back.
//!
//! Complexity: O(n · 16) edges for n events, O(n²) to find the shortest cycle (from the first 512 events only).
//!
//! Guarantees: the cycle has the fewest edges of those through the events searched from; program order counts as one edge however
//! far it goes.
//!
//! [`Read::memory`]: crate::execution::Read::memory

use crate::execution::{Event, Link, Relation, Trace};
use std::collections::VecDeque;

/// From how many events a cycle is searched at most.
const STARTS: usize = 512;

/// Whether some access is to a part of its address.
pub(crate) fn has_parts(trace: &Trace) -> bool {
    trace.threads.iter().flatten().any(|made| made.access.part != 0)
}

/// A happens-before cycle; `None` if the trace is sequentially consistent.
pub(crate) fn cycle(trace: &Trace) -> Option<Vec<Link>> {
    let edges = edges(trace);
    let events: Vec<Event> = all(trace).collect();
    let mut best: Option<Vec<Link>> = None;
    for start in (0..events.len()).take(STARTS) {
        let way = back_to(&edges, start);
        let links = way.map(|way| way.into_iter().map(|(i, relation)| Link { event: events[i], relation }).collect());
        best = match (best, links) {
            (Some(best), Some(links)) if best.len() <= Vec::len(&links) => Some(best),
            (best, links) => links.or(best),
        };
    }
    best
}

fn all(trace: &Trace) -> impl Iterator<Item = Event> + '_ {
    let thread = |(thread, made): (u32, &Vec<_>)| (0..made.len() as u32).map(move |index| Event { thread, index });
    (0..).zip(&trace.threads).flat_map(thread)
}

/// The edges out of each event. Events are numbered thread by thread.
fn edges(trace: &Trace) -> Vec<Vec<(usize, Relation)>> {
    let mut start = Vec::new();
    let mut events = 0;
    for made in &trace.threads {
        start.push(events);
        events += made.len();
    }
    let number = |event: Event| start[event.thread as usize] + event.index as usize;
    let mut edges = vec![Vec::new(); events];
    for event in all(trace) {
        let later = event.index as usize + 1..trace.threads[event.thread as usize].len();
        edges[number(event)].extend(later.map(|index| (start[event.thread as usize] + index, Relation::Po)));
    }
    for byte in 0..16 {
        let has = |event: &Event| trace.get(*event).is_some_and(|made| made.access.bytes().contains(&byte));
        let orders: Vec<Vec<Event>> =
            trace.order.iter().map(|order| order.iter().copied().filter(has).collect()).collect();
        for pair in orders.iter().flat_map(|order| order.windows(2)) {
            edges[number(pair[0])].push((number(pair[1]), Relation::Co));
        }
        for event in all(trace).filter(has) {
            let Some(made) = trace.get(event) else { continue };
            let (Some(read), addr) = (made.read, made.access.addr) else { continue };
            let order = orders.get(addr as usize).map_or(&[][..], |order| order);
            let reached = |write: &Event| match read.memory.and_then(|last| trace.place(addr, last)) {
                Some(last) => trace.place(addr, *write) <= Some(last),
                None => false,
            };
            let own = |write: &Event| write.thread == event.thread && write.index < event.index && !reached(write);
            let buffered = order.iter().filter(|write| own(write)).max_by_key(|write| write.index);
            let source = buffered.or_else(|| order.iter().rev().find(|write| reached(write)));
            let next = source.map_or(0, |source| order.iter().position(|write| write == source).map_or(0, |at| at + 1));
            edges[number(event)].extend(
                order[next..].iter().filter(|&&write| write != event).take(1).map(|&w| (number(w), Relation::Fr)),
            );
            if let Some(&source) = source {
                edges[number(source)].push((number(event), Relation::Rf));
            }
        }
    }
    for edges in &mut edges {
        edges.sort_unstable_by_key(|&(to, relation)| (to, relation as u8));
        edges.dedup();
    }
    edges
}

/// The shortest way from an event back to itself.
fn back_to(edges: &[Vec<(usize, Relation)>], start: usize) -> Option<Vec<(usize, Relation)>> {
    let mut from: Vec<Option<(usize, Relation)>> = vec![None; edges.len()];
    let mut open = VecDeque::from([start]);
    while let Some(at) = open.pop_front() {
        for &(to, relation) in &edges[at] {
            if from[to].is_none() {
                from[to] = Some((at, relation));
                open.push_back(to);
            }
        }
    }
    let mut way = vec![from[start]?];
    while way[way.len() - 1].0 != start {
        way.push(from[way[way.len() - 1].0]?);
    }
    way.reverse();
    Some(way)
}
