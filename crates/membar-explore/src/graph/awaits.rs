//! Accesses that block: when they are made, and when a thread waits.
//!
//! # Problem
//!
//! A blocking access (a lock is taken, a thread begins) is made only with a value that lets it be made. The graphs to
//! visit are those in which each thread has ended or stands before a blocking access whose address has, last in co, a
//! value that blocks. Each is to be visited once.
//!
//! # Algorithm
//!
//! A thread before a blocking access b is extended only where a write that is *open* to b may be its source. An
//! extension is a read of an open write or, if the last write in co is not open, a *wait*: b will read from none of the
//! writes that there are. A write that revisits the read of b and is not open to it takes the read away, and leaves a
//! wait that *blames* the write; only at the end of co. Waits are kept in the graph, with the stamp of the decision; a
//! wait that blames has the stamp of the read that it replaces. After a wait, b is decided on again, with a new stamp,
//! once there is an open write.
//!
//! A write u is open to b if its value lets b be made and all waits of b, oldest first, *admit* it:
//!
//! * a wait with stamp s that blames nothing admits the writes that are later than s;
//! * a wait with stamp s that blames m admits u if m is the first write, of those that the older waits admit, to shut b
//!   out on the way to u: with f(c) the last write in co of those earlier than s or in the past (po ∪ rf) of c, without
//!   c itself, let u, f(u), f(f(u)), … go on until a write is earlier than s. Of these but the last, m is the last one
//!   that is not open to b, with regard to the waits older than s.
//!
//! Where a revisit by w deletes a wait that blames nothing, the wait counts as maximal. One that blames m is maximal if
//! the thread made b in the past of w, or if m is the first to shut b out on the way to f(w), f(w) included. A write
//! that is blamed by a wait is not deleted before that.
//!
//! # Guarantees
//!
//! Each graph is visited once. Of plain TruSt: consider a graph G that is to be visited. At each graph N of a path to
//! G, the event to extend N with is determined by N. Say that an event of N *agrees* if G has it with the same source,
//! or place in co. There is one way to continue:
//!
//! 1. If all events of N agree, let e be the next event. If G has the source of e in N, that is what e reads; a read of
//!    another write that is not maximal stays forever, since nothing deletes it. If the source w is not in N, the read
//!    is to be revisited by w, so it is maximal then.
//! 2. If r is the first read that does not agree, w revisits it, and until then the graph to arrive at is another one:
//!    N up to r, the past of w as in G, and all else maximal with regard to what is earlier and to the past of w. Of
//!    that, the same is true as of G.
//!
//! So the revisit of r by w is made from this graph only: that is the condition of [`super::revisit`]. The graph is
//! consistent, since maximal extensions are. In this argument the next event may depend on anything in N.
//!
//! Now let e be a blocking access b, and w its source in G; if the thread waits in G, let w be the last write of its
//! address, to which b is not open. If w is in N and open: b reads it. Otherwise, if the last write of N is not open,
//! the thread waits: a read of another write would stay forever. That is the wait that blames nothing: it is the only
//! way to go on, and needs no condition when it is deleted. If w is not in N and the last write is open, the read of it
//! is to be revisited. It is revisited by …, f(f(w)), f(w), w in that order, as 2. says of each of them in turn. Let m
//! be the first of them that is not open. Where the read would be of m it is taken away, and the wait blames m. The
//! rest of the path to G has no read of b to revisit. All of its events agree, so nothing is to be deleted, and b comes
//! up again once a write is open to it. For that the wait must remember that its graphs are those in which b reads a w
//! with this m, or none; the read of any other would be in a graph that is also visited without the wait. That is what
//! it means that a wait admits w.
//!
//! Where no thread can be extended, each that waits must do so for good: the last write w has a value that blocks, and
//! waits that blame have to blame the first to shut b out on the way to w, w included. Otherwise the graph is not one
//! to be visited, or is visited elsewhere, and it is dropped.
//!
//! # Complexity
//!
//! A wait costs the number of writes to the address for each write that comes after it, in the worst case for each
//! older wait of the access. Locks are first shut out by the write after the first earlier one.
//!
//! # Deviations
//!
//! TruSt has blocked reads, which read the last write in co and stop. Each later write leaves them behind in one
//! branch, which is of no use unless the write is deleted again, and revisits them in another one.

use super::graph::{Event, INIT, Ran, What};
use super::search::Graphs;
use crate::{Awaited, Observer, Program};

impl<P: Program, O: Observer> Graphs<P, O> {
    /// The condition of the access at this place of a thread, if it may block.
    pub(super) fn condition(&self, thread: usize, index: u32) -> Option<Awaited> {
        match (index as usize).checked_sub(1) {
            None => self.begin[thread].blocking,
            Some(before) => self.graph.ran[self.graph.threads[thread][before] as usize].after.blocking,
        }
    }

    /// Whether the access at this place of a thread may be made with this write. Waits older than this stamp count.
    pub(super) fn is_open(&self, awaited: &Awaited, thread: usize, index: u32, before: u32, write: u32) -> bool {
        let admits = |wait: &Event| match wait.source {
            INIT => write != INIT && self.graph.event(write).stamp > wait.stamp,
            blamed => self.first_to_shut(awaited, wait, write) == Some(blamed),
        };
        !awaited.blocks(self.graph.value(awaited.addr, write)) && self.waits(thread, index, before).all(admits)
    }

    /// The waits of the access at this place of a thread that are older than a stamp.
    fn waits(&self, thread: usize, index: u32, before: u32) -> impl Iterator<Item = &Event> {
        let waits = self.graph.waits[thread].iter().map(|&wait| self.graph.event(wait));
        waits.filter(move |wait| wait.index == index && wait.stamp < before)
    }

    /// Whether a thread that can go no further waits forever: the last write blocks, and its waits blame those who shut it out.
    pub(super) fn is_stuck(&self, awaited: &Awaited, thread: usize) -> bool {
        let (last, index) = (self.graph.last(awaited.addr), self.graph.threads[thread].len() as u32);
        let blames = |wait: &Event| wait.source == INIT || self.first_to_shut(awaited, wait, last) == Some(wait.source);
        awaited.blocks(self.graph.value(awaited.addr, last)) && self.waits(thread, index, u32::MAX).all(blames)
    }

    /// The first write that shuts out the access which this wait is about, on the way to `last`, which is included.
    fn first_to_shut(&self, awaited: &Awaited, wait: &Event, last: u32) -> Option<u32> {
        let graph = &self.graph;
        let (mut at, mut first) = (last, None);
        while at != INIT && graph.event(at).stamp > wait.stamp {
            if !self.is_open(awaited, wait.thread as usize, wait.index, wait.stamp, at) {
                first = Some(at);
            }
            at = self.last_known(awaited.addr, wait.stamp, graph.past(at), at);
        }
        first
    }

    /// The last write in co of those earlier than a stamp or in this past, but for one.
    fn last_known(&self, addr: u32, stamp: u32, past: &[u32], but: u32) -> u32 {
        let graph = &self.graph;
        let known = |&id: &u32| {
            let write = graph.event(id);
            id != but && (write.stamp < stamp || past[write.thread as usize] > write.index)
        };
        graph.co(addr).iter().rev().copied().find(known).unwrap_or(INIT)
    }

    /// Whether a wait is what there would be first, given what was decided on before it and this past.
    pub(super) fn is_maximal_wait(&self, wait: &Event, past: &[u32]) -> bool {
        if wait.source == INIT || past[wait.thread as usize] > wait.index {
            return true;
        }
        let Some(awaited) = self.condition(wait.thread as usize, wait.index) else { return false };
        let last = self.last_known(awaited.addr, wait.stamp, past, INIT);
        self.first_to_shut(&awaited, wait, last) == Some(wait.source)
    }

    /// The thread of the read waits instead: this write, the last one in the graph, shuts it out.
    pub(super) fn wait_for(&mut self, read: &Event, blamed: u32) {
        let wait =
            Event { stamp: read.stamp, source: blamed, ..self.event(read.thread as usize, What::Wait, read.access) };
        self.add(wait, Ran::NOT, 0);
    }
}
