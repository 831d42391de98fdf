//! Edges that come and go: extras that were found since the last run, learned edges, and choices.
//!
//! Each is in a list of its first node and, once walks need them, in one of its second node, the newest first.
//!
//! Invariants: edge i is about the extra `static_extras + i`, so an edge that was dropped keeps its place; it has no first node (`from` is
//! [`NONE`]) and is in no list. During a run, an edge in a list counts in the `indegree` of its second node unless its first has executed.
//!
//! Complexity: O(1) to add one; to drop one, the lists of its two nodes up to it. The newest are dropped first, so that is short.

use super::{ALWAYS, Scheduler, Time};
use crate::problem::{Extra, NONE, Problem};

pub(super) struct DynEdge {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) extra: u32,
    /// It holds while the decision made at this time stands.
    pub(super) level: Time,
    pub(super) next_succ: u32,
    pub(super) next_pred: u32,
}

impl Scheduler {
    pub(super) fn link(&mut self, p: &mut Problem, extra: Extra) -> u32 {
        p.extras.push(extra);
        self.link_dyn(&extra, p.extras.len() as u32 - 1);
        self.block(p, extra.to);
        self.dyn_edges.len() as u32 - 1
    }

    pub(super) fn link_dyn(&mut self, extra: &Extra, index: u32) {
        let id = self.dyn_edges.len() as u32;
        let head = &mut self.dyn_succ[extra.from as usize];
        let next_succ = std::mem::replace(head, id);
        let next_pred = match self.dyn_pred.get_mut(extra.to as usize) {
            Some(head) => std::mem::replace(head, id),
            None => NONE,
        };
        let (from, to) = (extra.from, extra.to);
        self.dyn_edges.push(DynEdge { from, to, extra: index, level: ALWAYS, next_succ, next_pred });
    }

    pub(super) fn unlink_dyn(&mut self, id: u32) {
        let DynEdge { from, to, .. } = self.dyn_edges[id as usize];
        let mut at = self.dyn_succ[from as usize];
        if at == id {
            self.dyn_succ[from as usize] = self.dyn_edges[id as usize].next_succ;
        } else {
            while self.dyn_edges[at as usize].next_succ != id {
                at = self.dyn_edges[at as usize].next_succ;
            }
            self.dyn_edges[at as usize].next_succ = self.dyn_edges[id as usize].next_succ;
        }
        if !self.dyn_pred.is_empty() {
            let mut at = self.dyn_pred[to as usize];
            if at == id {
                self.dyn_pred[to as usize] = self.dyn_edges[id as usize].next_pred;
            } else {
                while self.dyn_edges[at as usize].next_pred != id {
                    at = self.dyn_edges[at as usize].next_pred;
                }
                self.dyn_edges[at as usize].next_pred = self.dyn_edges[id as usize].next_pred;
            }
        }
        self.dyn_edges[id as usize].from = NONE;
    }

    pub(super) fn drop_edge(&mut self, edge: u32) {
        let DynEdge { from, to, .. } = self.dyn_edges[edge as usize];
        self.unlink_dyn(edge);
        if !self.executed(from) {
            self.indegree[to as usize] -= 1;
            if self.indegree[to as usize] == 0 {
                self.todo.push(to);
            }
        }
    }

    #[inline]
    pub(super) fn block(&mut self, p: &Problem, node: u32) {
        let left = &mut self.indegree[node as usize];
        if *left == 0 && (node as usize) < p.ops {
            self.unlist(p, node);
        }
        self.indegree[node as usize] += 1;
    }
}
