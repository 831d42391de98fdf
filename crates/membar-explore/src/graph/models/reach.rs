//! Cycles through the last event of a graph.
//!
//! A relation is given by what is preserved of program order, and which reads-from count; co and fr always do. From the event, a
//! depth-first search follows it until it comes back. Of co and fr only the immediate successors are followed.

use crate::graph::graph::{Event, Graph, What};

/// What a search needs, kept for the next one.
#[derive(Debug, Default)]
pub struct Reach {
    seen: Vec<u32>,
    round: u32,
    stack: Vec<u32>,
    from: Vec<u32>,
    next: Vec<u32>,
}

impl Reach {
    /// For searches that see threads from some place on: nothing of any of them, and nowhere to go.
    pub fn by_thread(&mut self, threads: usize) -> (&mut [u32], &mut Vec<u32>) {
        self.from.clear();
        self.from.resize(threads, u32::MAX);
        self.stack.clear();
        (&mut self.from, &mut self.stack)
    }

    /// Whether the last event of the graph, `id`, is on a cycle. `ordered` adds the events of its thread that are after an event; `counts`
    /// says whether a read counts as after its source.
    #[inline]
    pub fn is_cyclic(
        &mut self,
        graph: &Graph,
        id: u32,
        ordered: impl Fn(&Graph, &Event, &mut Vec<u32>),
        counts: impl Fn(&Event, &Event) -> bool,
    ) -> bool {
        if successor(graph, id, graph.event(id)).is_none() {
            return false;
        }
        self.round += 1;
        if self.seen.len() < graph.len() {
            self.seen.resize(graph.len(), 0);
        }
        self.stack.clear();
        self.stack.push(id);
        while let Some(from) = self.stack.pop() {
            let event = graph.event(from);
            self.next.clear();
            if let Some(&write) = successor(graph, from, event) {
                self.next.push(write);
            }
            if from != id {
                ordered(graph, event, &mut self.next);
                if event.is_write() {
                    let reads = &graph.places[event.access.addr as usize].reads;
                    let read = |&&read: &&u32| graph.event(read).source == from && counts(event, graph.event(read));
                    self.next.extend(reads.iter().filter(read));
                }
            }
            for i in 0..self.next.len() {
                let to = self.next[i];
                if to == id {
                    return true;
                }
                if self.seen[to as usize] != self.round {
                    self.seen[to as usize] = self.round;
                    self.stack.push(to);
                }
            }
        }
        false
    }
}

/// The next write after a write in co, or the first that a read is before in fr.
#[inline]
pub fn successor<'a>(graph: &'a Graph, id: u32, event: &Event) -> Option<&'a u32> {
    let addr = event.access.addr;
    match event.what {
        What::Read => graph.co(addr).get(graph.position(addr, event.source)),
        What::Write => graph.co(addr).get(graph.position(addr, id)),
        What::Choice | What::Wait => None,
    }
}

/// Whether a write of another thread that comes after the event's place in co is in its past.
#[inline]
pub fn is_overtaken(graph: &Graph, id: u32) -> bool {
    let event = graph.event(id);
    let addr = event.access.addr;
    let place = match event.what {
        What::Read => graph.position(addr, event.source),
        What::Write => graph.position(addr, id),
        What::Choice | What::Wait => return false,
    };
    let past = graph.past(id);
    graph.co(addr)[place..].iter().any(|&write| {
        let write = graph.event(write);
        write.thread != event.thread && past[write.thread as usize] > write.index
    })
}

/// Whether the event does not contradict earlier ones of its thread and address.
pub fn coheres(graph: &Graph, id: u32) -> bool {
    let event = graph.event(id);
    let addr = event.access.addr;
    let Some(place) = graph.place(addr) else { return true };
    let own = if event.is_read() { graph.position(addr, event.source) } else { graph.position(addr, id) };
    if own == place.co.len() {
        return true;
    }
    let mine = |&other: &u32| other != id && graph.event(other).thread == event.thread;
    let written = place.co.iter().rposition(mine).map_or(0, |at| at + 1);
    let read = place.reads.iter().rev().find(|other| mine(other));
    let read = read.map_or(0, |&read| graph.position(addr, graph.event(read).source));
    own >= written.max(read)
}
