//! Sequential consistency: po ∪ rf ∪ co ∪ fr is acyclic.
//!
//! All of program order counts, so what a search has seen of a thread is everything from some place on, and it has come round when it
//! meets any event of the thread that it began in: no event comes after the one that is added.

use super::Reach;
use super::reach::successor;
use crate::graph::graph::{Graph, What};

pub fn admits(graph: &Graph, id: u32, reach: &mut Reach) -> bool {
    let event = graph.event(id);
    let Some(&write) = successor(graph, id, event) else { return true };
    let (seen, stack) = reach.by_thread(graph.threads.len());
    stack.push(write);
    while let Some(next) = stack.pop() {
        let &next = graph.event(next);
        if next.thread == event.thread {
            return false;
        }
        let seen = &mut seen[next.thread as usize];
        let (from, to) = (next.index as usize, graph.threads[next.thread as usize].len().min(*seen as usize));
        if from >= to {
            continue;
        }
        *seen = next.index;
        for &later in &graph.threads[next.thread as usize][from..to] {
            let event = graph.event(later);
            stack.extend(successor(graph, later, event));
            if event.is_write() {
                let reads = &graph.places[event.access.addr as usize].reads;
                stack.extend(reads.iter().filter(|&&read| graph.event(read).source == later));
            }
        }
    }
    true
}

/// Tarjan's algorithm: components, numbered in the order in which they are left.
pub fn knots(graph: &Graph) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let len = graph.len();
    let (mut numbers, mut lows, mut knots) = (vec![NONE; len], vec![NONE; len], vec![NONE; len]);
    let (mut count, mut open, mut calls) = (0, Vec::new(), Vec::new());
    for root in 0..len as u32 {
        if numbers[root as usize] == NONE {
            calls.push((root, 0));
        }
        while let Some((from, edge)) = calls.last_mut() {
            let (id, at) = (*from, *from as usize);
            if *edge == 0 {
                (numbers[at], lows[at]) = (count, count);
                count += 1;
                open.push(id);
            }
            let to = next(graph, id, *edge);
            *edge += 1;
            match to {
                Some(Some(to)) if numbers[to as usize] == NONE => calls.push((to, 0)),
                Some(Some(to)) if knots[to as usize] == NONE => lows[at] = lows[at].min(numbers[to as usize]),
                Some(_) => {}
                None => {
                    calls.pop();
                    if let Some(&(before, _)) = calls.last() {
                        lows[before as usize] = lows[before as usize].min(lows[at]);
                    }
                    if lows[at] == numbers[at] {
                        while let Some(member) = open.pop() {
                            knots[member as usize] = id;
                            if member == id {
                                break;
                            }
                        }
                    }
                }
            }
        }
    }
    knots
}

/// An edge out of an event, by number, if there is one with this number: it may lead nowhere.
fn next(graph: &Graph, id: u32, edge: usize) -> Option<Option<u32>> {
    let event = graph.event(id);
    match edge {
        0 if event.what == What::Wait => None,
        0 => Some(graph.threads[event.thread as usize].get(event.index as usize + 1).copied()),
        1 => Some(successor(graph, id, event).copied()),
        _ if !event.is_write() => None,
        _ => {
            let &read = graph.places[event.access.addr as usize].reads.get(edge - 2)?;
            Some((graph.event(read).source == id).then_some(read))
        }
    }
}
