//! The relation psc of a graph: whether RC11 has a total order of its seq_cst accesses and fences.
//!
//! Each relation of the definition ([`super`]) is computed once, as a matrix of bits with a row for each node, and psc is composed of their
//! rows. Nodes are accesses, by their ids, and after them the fences: a fence is a node of its own here, before its access.
//!
//! Complexity: for n nodes, O(n²) to fill the matrices, O(n³ / 64) to compose them, O(n³ / 64) at most for the search for a cycle.

use super::{FENCED, HB, fence, is_sc, row};
use crate::graph::graph::{Event, Graph, What};
use membar_core::Fence;

/// Sets of nodes, one row of words for each.
struct Rows {
    words: usize,
    bits: Vec<u64>,
}

impl Rows {
    fn new(nodes: usize) -> Rows {
        let words = nodes.div_ceil(64);
        Rows { words, bits: vec![0; nodes * words] }
    }

    fn row(&self, row: usize) -> &[u64] {
        &self.bits[row * self.words..][..self.words]
    }

    fn set(&mut self, row: usize, column: usize) {
        self.bits[row * self.words + column / 64] |= 1 << (column % 64);
    }

    fn join(&mut self, row: usize, other: &[u64]) {
        join(&mut self.bits[row * self.words..][..self.words], other);
    }

    /// What the relation leads to from the nodes of a set.
    fn after(&self, set: &[u64]) -> Vec<u64> {
        let mut reached = vec![0; self.words];
        each(set, |node| join(&mut reached, self.row(node)));
        reached
    }
}

fn join(to: &mut [u64], from: &[u64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
}

fn each(set: &[u64], mut work: impl FnMut(usize)) {
    for (word, &bits) in set.iter().enumerate() {
        let mut left = bits;
        while left != 0 {
            work(64 * word + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

/// The accesses of a graph, and after them its fences.
struct Nodes<'a> {
    graph: &'a Graph,
    /// The access behind each fence.
    fences: Vec<u32>,
    /// All but the places where threads wait.
    present: Vec<usize>,
}

impl Nodes<'_> {
    fn new(graph: &Graph) -> Nodes<'_> {
        let fences: Vec<u32> = (0..graph.len() as u32).filter(|&id| fence(graph.event(id)) != Fence::None).collect();
        let is_access = |id: &usize| matches!(graph.events[*id].what, What::Read | What::Write | What::Choice);
        let present = (0..graph.len()).filter(is_access).chain(graph.len()..graph.len() + fences.len()).collect();
        Nodes { graph, fences, present }
    }

    fn len(&self) -> usize {
        self.graph.len() + self.fences.len()
    }

    fn is_fence(&self, node: usize) -> bool {
        node >= self.graph.len()
    }

    /// The access, or the one behind the fence.
    fn access(&self, node: usize) -> u32 {
        if self.is_fence(node) { self.fences[node - self.graph.len()] } else { node as u32 }
    }

    fn event(&self, node: usize) -> &Event {
        self.graph.event(self.access(node))
    }

    /// Nothing for fences and choices.
    fn addr(&self, node: usize) -> Option<u32> {
        (!self.is_fence(node) && self.event(node).what != What::Choice).then(|| self.event(node).access.addr)
    }

    fn have_one_addr(&self, one: usize, other: usize) -> bool {
        self.addr(one).is_some() && self.addr(one) == self.addr(other)
    }

    /// Thread and place.
    fn place(&self, node: usize) -> (usize, u32) {
        let event = self.event(node);
        (event.thread as usize, 2 * event.index + u32::from(!self.is_fence(node)))
    }

    fn is_sc(&self, node: usize) -> bool {
        if self.is_fence(node) { fence(self.event(node)) == Fence::SeqCst } else { is_sc(self.event(node)) }
    }

    /// hb and po.
    fn ordered(&self) -> (Rows, Rows) {
        let (mut hb, mut po) = (Rows::new(self.len()), Rows::new(self.len()));
        for &one in &self.present {
            let (thread, at) = self.place(one);
            for &other in &self.present {
                let (other_thread, other_at) = self.place(other);
                let clock = row(self.graph, self.access(other), if self.is_fence(other) { FENCED } else { HB });
                if one != other && clock[thread] > at {
                    hb.set(one, other);
                }
                if thread == other_thread && at < other_at {
                    po.set(one, other);
                }
            }
        }
        (hb, po)
    }

    /// co ∪ fr, and eco.
    fn communication(&self) -> (Rows, Rows) {
        let graph = self.graph;
        let (mut overwrites, mut eco) = (Rows::new(self.len()), Rows::new(self.len()));
        for place in &graph.places {
            let behind =
                |read: u32| &place.co[graph.position(graph.event(read).access.addr, graph.event(read).source)..];
            let readers = |write: u32| place.reads.iter().filter(move |&&read| graph.event(read).source == write);
            let mut after = |from: u32, later: &[u32]| {
                for &write in later {
                    eco.set(from as usize, write as usize);
                    readers(write).for_each(|&read| eco.set(from as usize, read as usize));
                }
            };
            for (at, &write) in place.co.iter().enumerate() {
                after(write, &place.co[at + 1..]);
                place.co[at + 1..].iter().for_each(|&later| overwrites.set(write as usize, later as usize));
            }
            for &read in &place.reads {
                let event = graph.event(read);
                after(read, behind(read));
                for &later in behind(read) {
                    // The write of the same operation is not after its read in fr.
                    let own = graph.event(later);
                    if !(event.paired && own.thread == event.thread && own.index == event.index + 1) {
                        overwrites.set(read as usize, later as usize);
                    }
                }
            }
            for &write in &place.co {
                readers(write).for_each(|&read| eco.set(write as usize, read as usize));
            }
        }
        (overwrites, eco)
    }

    /// scb = po ∪ (po≠loc;hb;po≠loc) ∪ hb|loc ∪ co ∪ fr, the last two of which are given.
    fn scb(&self, hb: &Rows, po: &Rows, overwrites: Rows) -> Rows {
        let mut scb = overwrites;
        let mut po_apart = Rows::new(self.len());
        for &one in &self.present {
            each(po.row(one), |other| {
                if !self.have_one_addr(one, other) {
                    po_apart.set(one, other);
                }
            });
        }
        for &one in &self.present {
            scb.join(one, po.row(one));
            each(hb.row(one), |other| {
                if self.have_one_addr(one, other) {
                    scb.set(one, other);
                }
            });
            scb.join(one, &po_apart.after(&hb.after(po_apart.row(one))));
        }
        scb
    }
}

/// The relation, among accesses and fences that are seq_cst.
pub(super) struct Psc {
    nodes: Vec<usize>,
    relation: Rows,
}

impl Psc {
    pub(super) fn new(graph: &Graph) -> Psc {
        let all = Nodes::new(graph);
        let (hb, po) = all.ordered();
        let (overwrites, eco) = all.communication();
        let scb = all.scb(&hb, &po, overwrites);
        let nodes: Vec<usize> = all.present.iter().copied().filter(|&node| all.is_sc(node)).collect();
        let mut relation = Rows::new(all.len());
        for &one in &nodes {
            // ([SC] ∪ [Fsc];hb?);scb, to an access
            let mut from = vec![0u64; hb.words];
            from[one / 64] |= 1 << (one % 64);
            if all.is_fence(one) {
                join(&mut from, hb.row(one));
            }
            let to_access = scb.after(&from);
            // and then hb?, to a fence; from a fence (hb ∪ hb;eco;hb) as well.
            let mut to_fence = hb.after(&to_access);
            join(&mut to_fence, &to_access);
            if all.is_fence(one) {
                join(&mut to_fence, hb.row(one));
                join(&mut to_fence, &hb.after(&eco.after(hb.row(one))));
            }
            for &other in &nodes {
                let reached = if all.is_fence(other) { &to_fence } else { &to_access };
                if reached[other / 64] >> (other % 64) & 1 != 0 {
                    relation.set(one, other);
                }
            }
        }
        Psc { nodes, relation }
    }

    /// Takes away nodes without a successor, as long as there are any.
    pub(super) fn is_acyclic(&self) -> bool {
        let mut left = self.nodes.clone();
        let mut present = vec![0u64; self.relation.words];
        left.iter().for_each(|&node| present[node / 64] |= 1 << (node % 64));
        loop {
            let before = left.len();
            left.retain(|&node| {
                let stays = self.relation.row(node).iter().zip(&present).any(|(to, present)| to & present != 0);
                if !stays {
                    present[node / 64] &= !(1 << (node % 64));
                }
                stays
            });
            if left.is_empty() {
                return true;
            }
            if left.len() == before {
                return false;
            }
        }
    }
}
