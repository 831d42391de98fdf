//! Models without a write order: the values that a load may return in a partial order.
//!
//! Problem: in location consistency the writes of an address are not totally ordered. Memory order is partial: program
//! order as far as the model keeps it, time, reads-from, and for each lock one order of its sessions. A load returns a
//! write that is not overwritten: there is no other write of the address between the two in that order. Is there an
//! order of the sessions for which this holds?
//!
//! Algorithm: the scheduler knows locks only (see [`crate::problem`]) and finds orders of the sessions, each as a total
//! order of all operations. For such an order:
//! 1. Walk it once for each address, with forward clocks: for each thread its last write of the address that is before the
//!    node. A thread's writes of one address are in order, so that the last one stands for all.
//! 2. A load L that returned S is wrong if S is before one of the writes that its clock names. Of all such loads the first
//!    in the order is taken: it rests on the fewest sessions.
//! 3. The two paths, from S to that write and on to L, pass from session to session; the order of those sessions is what the
//!    conflict rests on. The scheduler learns from it as from its own conflicts, and continues.
//!
//! Complexity: O((n + e) a p) for each order that is tried, n p words of memory. Exponential in the worst case, as sessions
//! can be ordered in many ways; polynomial without locks.
//!
//! Guarantees: complete, since every conflict excludes the order of sessions that it was found in.
//!
//! References: Gao, Sarkar, "Location consistency: a new memory model and cache consistency protocol", 2000; Lv et al., 2014,
//! section 3, without the coherence order.

use crate::problem::{NONE, Problem};
use crate::schedule::{Conflict, Scheduler, Wait, WaitWhy};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

impl Scheduler {
    /// In the complete order of an execution without write order: a read of an overwritten value, as a conflict.
    pub(crate) fn overwritten_read(&mut self, p: &Problem) -> Option<Conflict> {
        self.make_preds(p);
        let mut clocks: Vec<u32> = Vec::new();
        let mut first: Option<(u32, Overwritten)> = None;
        for x in 0..p.addrs as u32 {
            let end = p.finals.iter().find(|end| end.0 == x).map(|&(_, source)| source);
            if p.data_writes[x as usize] == 0 || (p.data_reads[x as usize] == 0 && end.is_none()) {
                continue;
            }
            if let Some((place, found)) = self.first_overwritten(p, x, end, &mut clocks)
                && first.as_ref().is_none_or(|&(earliest, _)| place < earliest)
            {
                first = Some((place, found));
            }
        }
        let (_, Overwritten { source, by, read }) = first?;
        let premise = if p.is_init(source) { Vec::new() } else { self.way(p, source, by) };
        let mut cycle = Vec::new();
        if read != NONE {
            cycle = self.way(p, by, read);
            cycle.push(Wait { from: read, to: by, why: WaitWhy::Overwritten });
        }
        Some(self.partial_conflict(p, cycle, premise, by))
    }

    /// The first read of an overwritten value of `x`, and its place.
    fn first_overwritten(
        &self,
        p: &Problem,
        x: u32,
        end: Option<u32>,
        clocks: &mut Vec<u32>,
    ) -> Option<(u32, Overwritten)> {
        // Per node and thread: one more than the last write.
        let threads = p.thread_start.len() - 1;
        clocks.clear();
        clocks.resize(p.nodes * threads, 0);
        let is_before = |clocks: &[u32], first: u32, second: u32| {
            p.is_init(first) || clocks[second as usize * threads + p.thread(first)] > first
        };
        let mut row = vec![0u32; threads];
        for (place, &node) in self.order.iter().enumerate() {
            row.fill(0);
            self.each_before(p, node, |wait| {
                if !p.is_init(wait.from) {
                    let from = wait.from as usize * threads;
                    row.iter_mut().zip(&clocks[from..from + threads]).for_each(|(a, &b)| *a = (*a).max(b));
                }
            });
            let i = node as usize;
            if i < p.ops && p.addr[i] == x {
                let source = p.src[i];
                if source != NONE {
                    let by = row.iter().filter(|&&last| last != 0).map(|&last| last - 1);
                    let by = by.filter(|&write| write != source).find(|&write| is_before(clocks, source, write));
                    if let Some(by) = by {
                        return Some((place as u32, Overwritten { source, by, read: node }));
                    }
                }
                if p.writes_data(node) {
                    row[p.thread(node)] = node + 1;
                }
            }
            clocks[i * threads..(i + 1) * threads].copy_from_slice(&row);
        }
        let source = end?;
        let mut writes = (0..p.ops as u32).filter(|&node| p.addr[node as usize] == x && p.writes_data(node));
        let by = writes.find(|&write| write != source && is_before(clocks, source, write))?;
        Some((self.order.len() as u32, Overwritten { source, by, read: NONE }))
    }

    /// Everything that comes directly before a node in the order of this execution: the graph, reads-from, and the
    /// session before that of an acquire.
    fn each_before(&self, p: &Problem, node: u32, mut f: impl FnMut(Wait)) {
        let i = node as usize;
        for &from in &self.pred[self.pred_start[i] as usize..self.pred_start[i + 1] as usize] {
            f(Wait { from, to: node, why: WaitWhy::Graph });
        }
        if i >= p.ops {
            return;
        }
        if p.src[i] != NONE {
            f(Wait { from: p.src[i], to: node, why: WaitWhy::ReadsFrom });
        } else if p.writes(node) {
            let before = self.overwritten[i];
            // A release that has no source is one whose lock excludes nobody.
            if !p.is_init(before) && p.src[before as usize] != NONE {
                f(Wait { from: before, to: node, why: WaitWhy::Overwrites });
            }
        }
    }

    /// A way from one node to another, through few sessions.
    fn way(&self, p: &Problem, from: u32, to: u32) -> Vec<Wait> {
        let mut after: FxHashMap<u32, (u32, Wait)> = FxHashMap::default();
        let mut queue = VecDeque::from([(0u32, to)]);
        let earliest = self.place[from as usize];
        while let Some((cost, node)) = queue.pop_front() {
            if node == from {
                break;
            }
            if after.get(&node).is_some_and(|&(known, _)| known < cost) {
                continue;
            }
            self.each_before(p, node, |wait| {
                let cost = cost + (wait.why == WaitWhy::Overwrites) as u32;
                let seen = p.is_init(wait.from) || self.place[wait.from as usize] < earliest;
                if !seen && after.get(&wait.from).is_none_or(|&(known, _)| cost < known) {
                    after.insert(wait.from, (cost, wait));
                    let entry = (cost, wait.from);
                    if wait.why == WaitWhy::Overwrites { queue.push_back(entry) } else { queue.push_front(entry) }
                }
            });
        }
        let mut way = Vec::new();
        let mut at = from;
        while at != to {
            let wait = after[&at].1;
            way.push(wait);
            at = wait.to;
        }
        way
    }
}

/// `source` is before `by`, which is before `read` (or before the end, [`NONE`]), which returned `source`.
struct Overwritten {
    source: u32,
    by: u32,
    read: u32,
}
