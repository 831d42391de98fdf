//! Topological order of the graph: program order, reads-from and all extras.
//!
//! Kahn's algorithm, O(n + e). Nodes that cannot be sorted lie on or behind a cycle.

use crate::problem::{NONE, Problem};
use crate::schedule::{Wait, WaitWhy};

#[derive(Default)]
pub(crate) struct Sorter {
    /// The nodes that could be sorted.
    pub order: Vec<u32>,
    /// Each node's place in the last order that was complete; empty if none was, for this problem.
    pub rank: Vec<u32>,
    /// Each node's place in `order`, [`NONE`] for those that could not be sorted.
    place: Vec<u32>,
    indegree: Vec<u32>,
    derived_start: Vec<u32>,
    derived: Vec<u32>,
}

impl Sorter {
    /// Sorts. `false`: there is a cycle.
    pub fn sort(&mut self, p: &Problem) -> bool {
        let extras = p.extras[p.static_extras..].iter().filter(|extra| !extra.conditional);
        self.derived_start.clear();
        self.derived_start.resize(p.nodes + 2, 0);
        self.indegree.clear();
        self.indegree.extend_from_slice(&p.indegree);
        for extra in extras.clone() {
            self.derived_start[extra.from as usize + 2] += 1;
            self.indegree[extra.to as usize] += 1;
        }
        for i in 1..p.nodes + 1 {
            self.derived_start[i + 1] += self.derived_start[i];
        }
        self.derived.clear();
        self.derived.resize(self.derived_start[p.nodes + 1] as usize, 0);
        for extra in extras {
            let at = &mut self.derived_start[extra.from as usize + 1];
            self.derived[*at as usize] = extra.to;
            *at += 1;
        }
        for node in 0..p.ops {
            let src = p.src[node];
            if src != NONE && (src as usize) < p.ops && !p.forwarded(node as u32) {
                self.indegree[node] += 1;
            }
        }
        let mut order = std::mem::take(&mut self.order);
        let mut indegree = std::mem::take(&mut self.indegree);
        order.clear();
        order.extend((0..p.nodes as u32).filter(|&node| indegree[node as usize] == 0 && !p.is_init(node)));
        let mut at = 0;
        while at < order.len() {
            let node = order[at];
            at += 1;
            self.each_successor(p, node, |next| {
                indegree[next as usize] -= 1;
                if indegree[next as usize] == 0 {
                    order.push(next);
                }
            });
        }
        self.indegree = indegree;
        self.order = order;
        self.place.clear();
        self.place.resize(p.nodes, NONE);
        for (place, &node) in self.order.iter().enumerate() {
            self.place[node as usize] = place as u32;
        }
        let complete = self.order.len() == p.nodes - p.addrs;
        if complete {
            std::mem::swap(&mut self.rank, &mut self.place);
        }
        complete
    }

    /// Everything that an edge of the sorted graph leads to.
    #[inline]
    pub fn each_successor(&self, p: &Problem, node: u32, mut f: impl FnMut(u32)) {
        let i = node as usize;
        for &next in p.succ(node) {
            f(next);
        }
        for &next in &self.derived[self.derived_start[i] as usize..self.derived_start[i + 1] as usize] {
            f(next);
        }
        for &reader in p.readers(node) {
            if !p.forwarded(reader) {
                f(reader);
            }
        }
    }

    /// A cycle among the nodes that could not be sorted.
    pub fn cycle(&self, p: &Problem) -> Vec<Wait> {
        let unsorted = |node: u32| self.place[node as usize] == NONE && !p.is_init(node);
        // Each unsorted node has an unsorted predecessor: remember one.
        let mut before = vec![Wait { from: NONE, to: NONE, why: WaitWhy::Graph }; p.nodes];
        for from in (0..p.nodes as u32).filter(|&node| unsorted(node)) {
            for &to in p.succ(from) {
                before[to as usize] = Wait { from, to, why: WaitWhy::Graph };
            }
            for &to in p.readers(from).iter().filter(|&&reader| !p.forwarded(reader)) {
                before[to as usize] = Wait { from, to, why: WaitWhy::ReadsFrom };
            }
        }
        for (i, extra) in p.extras.iter().enumerate().skip(p.static_extras) {
            if !extra.conditional && unsorted(extra.from) {
                before[extra.to as usize] = Wait { from: extra.from, to: extra.to, why: WaitWhy::Extra(i as u32) };
            }
        }
        let mut seen = vec![false; p.nodes];
        let mut node = (0..p.nodes as u32).find(|&node| unsorted(node)).expect("there is a cycle");
        let mut path = Vec::new();
        while !std::mem::replace(&mut seen[node as usize], true) {
            path.push(before[node as usize]);
            node = before[node as usize].from;
        }
        let start = path.iter().position(|wait| wait.to == node).expect("on the path");
        path.drain(..start);
        path.reverse();
        path
    }
}
