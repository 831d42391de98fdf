//! Whether an execution so far is consistent under RC11.
//!
//! **Problem.** Executions are built access by access ([`axiomatic`](crate::axiomatic)), each access after everything that it follows in
//! program order and after what it reads. Is what is there an execution under RC11 (Lahav and others, PLDI 2017; release sequences of C++20)?
//! The definitions are in `membar-monitor/src/c11/robust.rs`, and the model does not allow load buffering: po ∪ rf has no cycle.
//!
//! **Algorithm.** Nodes are accesses and fences, in the order in which they were added; no edge of hb goes back in it, so one pass gives
//! the nodes that happen before each. A read of a write acquires what it *passes*: a release what happens before it; another
//! atomic write what happens before the last release fence of its thread; a read-modify-write also what its source passes. Then
//! coherence is that nothing which happens before a node is after it in eco, and psc is built as it is defined and searched for a cycle.
//!
//! **Guarantees.** Every prefix of a consistent execution is consistent, so what is refused can be given up.
//!
//! **Complexity.** O(n²) sets of up to 128 nodes, O(n³) if there is something seq_cst.

use membar_core::{AccessKind, C11, Order};

/// An access, in the order in which it was added.
pub(crate) struct Access {
    pub(crate) thread: u8,
    pub(crate) kind: AccessKind,
    pub(crate) addr: u32,
    pub(crate) c11: C11,
    /// The access that it reads from; none is the initial value.
    pub(crate) source: Option<u8>,
    pub(crate) writes: bool,
}

/// Nodes, at most.
const NODES: usize = 128;

type Set = u128;

struct Node {
    thread: u8,
    /// None is a fence.
    addr: Option<u32>,
    order: Order,
    reads: bool,
    writes: bool,
    source: Option<usize>,
}

fn each(mut set: Set, mut work: impl FnMut(usize)) {
    while set != 0 {
        work(set.trailing_zeros() as usize);
        set &= set - 1;
    }
}

fn join(set: Set, of: &[Set]) -> Set {
    let mut all = 0;
    each(set, |node| all |= of[node]);
    all
}

/// Whether the accesses are consistent; `orders` are the writes to each address in modification order. `None` if there are too many.
pub(crate) fn is_consistent(accesses: &[Access], orders: &[Vec<u8>]) -> Option<bool> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut node_of = Vec::new();
    for access in accesses {
        let thread = access.thread;
        for part in access.c11.fence().parts() {
            let order = match (part.acquires(), part.releases()) {
                _ if *part == membar_core::Fence::SeqCst => Order::SeqCst,
                (true, false) => Order::Acquire,
                (false, true) => Order::Release,
                _ => Order::AcqRel,
            };
            nodes.push(Node { thread, addr: None, order, reads: false, writes: false, source: None });
        }
        let (reads, writes) = (access.kind.reads(), access.writes);
        let order = if writes || access.kind != AccessKind::Rmw { access.c11.order() } else { access.c11.failure() };
        let source = access.source.map(|source| node_of[usize::from(source)]);
        node_of.push(nodes.len());
        nodes.push(Node { thread, addr: Some(access.addr), order, reads, writes, source });
    }
    if nodes.len() > NODES {
        return None;
    }
    let orders: Vec<Vec<usize>> =
        orders.iter().map(|order| order.iter().map(|&write| node_of[usize::from(write)]).collect()).collect();
    Some(Graph::new(&nodes, &orders).is_consistent(&nodes))
}

struct Graph {
    /// The nodes that happen before each.
    hb: Vec<Set>,
    /// Those after each in its thread, in modification order, by from-read, and in eco.
    po: Vec<Set>,
    mo: Vec<Set>,
    fr: Vec<Set>,
    eco: Vec<Set>,
}

impl Graph {
    fn new(nodes: &[Node], orders: &[Vec<usize>]) -> Graph {
        let n = nodes.len();
        let threads = nodes.iter().map(|node| usize::from(node.thread) + 1).max().unwrap_or(0);
        let (mut now, mut pending, mut released) = (vec![0; threads], vec![0; threads], vec![0; threads]);
        let (mut hb, mut passed, mut po): (Vec<Set>, Vec<Set>, Vec<Set>) = (vec![0; n], vec![0; n], vec![0; n]);
        for (i, node) in nodes.iter().enumerate() {
            let (t, bit) = (usize::from(node.thread), 1 << i);
            (0..i).filter(|&j| nodes[j].thread == node.thread).for_each(|j| po[j] |= bit);
            let mut before: Set = now[t];
            let got = node.source.map_or(0, |source| passed[source]);
            match node.addr {
                None if node.order.acquires() => before |= pending[t],
                Some(_) if node.order.acquires() => before |= got,
                Some(_) if node.order.is_atomic() => pending[t] |= got,
                _ => {}
            }
            hb[i] = before;
            now[t] = before | bit;
            if node.addr.is_none() && node.order.releases() {
                released[t] = now[t];
            }
            if node.writes && node.order.is_atomic() {
                passed[i] = if node.order.releases() { now[t] } else { released[t] } | if node.reads { got } else { 0 };
            }
        }
        let (mut mo, mut fr, mut readers): (Vec<Set>, Vec<Set>, Vec<Set>) = (vec![0; n], vec![0; n], vec![0; n]);
        for order in orders {
            let mut after = 0;
            for &write in order.iter().rev() {
                mo[write] = after;
                after |= 1 << write;
            }
        }
        for (i, node) in nodes.iter().enumerate().filter(|(_, node)| node.reads) {
            let all =
                || orders[node.addr.map_or(0, |addr| addr as usize)].iter().fold(0, |all, &write| all | 1 << write);
            fr[i] = node.source.map_or_else(all, |source| mo[source]) & !(1 << i);
            if let Some(source) = node.source {
                readers[source] |= 1 << i;
            }
        }
        let eco = (0..n)
            .map(|i| {
                let later = mo[i] | fr[i];
                later | join(later, &readers) | readers[i]
            })
            .collect();
        Graph { hb, po, mo, fr, eco }
    }

    fn is_consistent(&self, nodes: &[Node]) -> bool {
        let Graph { hb, po, mo, fr, eco } = self;
        if hb.iter().zip(eco).any(|(before, after)| before & after != 0) {
            return false;
        }
        if nodes.iter().all(|node| node.order != Order::SeqCst) {
            return true;
        }
        let n = nodes.len();
        let mut happens: Vec<Set> = vec![0; n];
        hb.iter().enumerate().for_each(|(i, &before)| each(before, |j| happens[j] |= 1 << i));
        let here = |i: usize| {
            let same = |j: &usize| nodes[i].addr.is_some() && nodes[*j].addr == nodes[i].addr;
            (0..n).filter(same).fold(0, |all, j| all | 1 << j)
        };
        let apart: Vec<Set> = (0..n).map(|i| po[i] & !here(i)).collect();
        let far = |i: usize| join(join(apart[i], &happens), &apart);
        let scb: Vec<Set> = (0..n).map(|i| po[i] | far(i) | happens[i] & here(i) | mo[i] | fr[i]).collect();
        let is_sc = |i: &usize| nodes[*i].order == Order::SeqCst;
        let is_fence = |i: &usize| is_sc(i) && nodes[*i].addr.is_none();
        let all = (0..n).filter(is_sc).fold(0, |all, i| all | 1 << i);
        let fences: Set = (0..n).filter(is_fence).fold(0, |all, i| all | 1 << i);
        let mut psc: Vec<Set> = vec![0; n];
        for i in (0..n).filter(is_sc) {
            let from = if is_fence(&i) { happens[i] | 1 << i } else { 1 << i };
            let to = join(from, &scb);
            psc[i] = to & all | join(to, &happens) & fences;
            if is_fence(&i) {
                psc[i] |= (happens[i] | join(join(happens[i], eco), &happens)) & fences;
            }
        }
        for via in (0..n).filter(is_sc) {
            for from in (0..n).filter(is_sc) {
                if psc[from] >> via & 1 != 0 {
                    psc[from] |= psc[via];
                }
            }
        }
        (0..n).all(|i| psc[i] >> i & 1 == 0)
    }
}
