//! Rules R6 and R7 with reverse vector clocks.
//!
//! Problem: from the edges known so far, infer those that the Value axiom forces on writes of one address: with
//! `S = w(L)` and another write `S'`, R6: `S' ≤ L ⇒ S' ≤ S`; R7: `S ≤ S' ⇒ L ≤ S'`.
//!
//! Algorithm, one pass:
//! 1. Sort the graph topologically; a cycle ends the matter.
//! 2. Going backwards, give each node its reverse clock: for each thread, from which place of program order on all loads
//!    (column L) and all stores (column S) of that thread are after the node; acquires and releases have columns of their
//!    own. Loads, or stores, that a model keeps in order form one virtual SC processor per thread. Those that it keeps in
//!    order per address only have a column that speaks of the node's own address; it is passed on between nodes of one
//!    address, which is enough, see below. Where it is not (sessions, guards, locks that order less than all, time), and the
//!    addresses are few, each address has its own columns.
//! 3. For each store S of address x, the first store of x in each thread after S is a candidate S' of R7, and the first
//!    load of x in each thread after S that reads another write is a candidate L of R6. Among the candidates only minimal ones give
//!    an edge, and only if the clocks do not show it already.
//!
//! Passes are repeated until one adds nothing; see [`crate::read`] for what happens in between.
//!
//! Invariants: an entry is never too small: all operations that it promises are after the node. Clocks use the extras
//! that existed when the pass began, and every edge records that number, so that its premises can be found again.
//!
//! Why own-address columns are enough: a path between two stores of x leaves x's loads and stores only through a node that
//! orders *all* later loads or stores of its thread, which the thread-wide columns carry; and where it leads through a load L of x
//! to a store, R6 has made the edge to w(L), which is a store of x, and the path continues from there.
//!
//! Complexity: O((n + e) p) a pass, and as many words of memory: 2p a node for sc and tso, 3p for pso and rmo, 4p for wmo,
//! 2p more with locks; 2pa with columns for each of a addresses and locks.
//!
//! Guarantees: sound for every model. To a fixed point it finds what the paper's figure 1 finds, except that with loads
//! which are not ordered even on one address (rmo), and with collectors that relate single kinds, it may find less; the
//! search does not depend on it.
//!
//! Deviations from the paper: edges are added after the pass, not during it (a clock updated in place is wrong for
//! all nodes already behind it, and would be repaired only by the next pass); only minimal candidates are used (the
//! others follow); per-address clocks are kept for the node's own address only where that is enough, where the paper has
//! one virtual processor for each address, whose clocks need p·a words a node.
//!
//! References: Manovit, Hangal, SPAA 2005, 4.2, 4.4 and 4.6.

use crate::limits::Limits;
use crate::problem::{Extra, NONE, Problem, Why};
use crate::sort::Sorter;
use membar_core::{Kind, Kinds, Model, OpKind, ThreadId, Trace, Undecided};

/// The result of a pass.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// The graph, with its extras, has a cycle: these nodes cannot be sorted.
    Cyclic,
    /// A write would be before the initial value that this load returned: R6.
    BeforeInit { write: u32, load: u32 },
    /// This many edges were added.
    Added(usize),
    /// A limit was passed.
    Limit(Undecided),
}

/// Column groups of a clock, each with an entry per thread.
#[derive(Clone, Copy, Default)]
struct Columns {
    threads: usize,
    /// Does each address have its own columns: two groups, loads and stores?
    each_address: bool,
    /// The groups that speak of all operations of a kind: two, or four where there are locks.
    shared: usize,
    /// Where the own-address columns of loads and stores begin, if there are any.
    own_loads: Option<usize>,
    own_stores: Option<usize>,
    width: usize,
    /// Per kind, what an operation promises about the rest of its thread: all operations of these kinds are after it.
    promises: [Kinds; 4],
    /// Are the loads of one address in order, and do they come after earlier stores?
    loads_ordered: bool,
    loads_after_stores: bool,
}

/// Columns for each address are worth up to this many words in all.
const MOST_WORDS: usize = 1 << 26;

impl Columns {
    fn new(trace: &Trace, model: &Model, p: &Problem) -> Columns {
        let (ppo, threads) = (&model.ppo, trace.threads());
        let promises = ppo.rows(|when| when.always);
        let loads_ordered = ppo.entry(Kind::Load, Kind::Load).on_one_address();
        let loads_after_stores = ppo.entry(Kind::Store, Kind::Load).on_one_address() && loads_ordered;
        let in_order = |kind: Kind| promises[kind as usize].has(kind);
        let (locks, all_ordered) = (trace.has_locks(), in_order(Kind::Load) && in_order(Kind::Store));
        let beyond = ppo.any(|when| when.same_session || when.guarded || !when.also.is_empty())
            || (trace.has_times() && !all_ordered)
            || (locks && !ppo.locks_are_accesses());
        let each = 2 * threads * trace.addrs();
        let mut columns = Columns { threads, promises, loads_ordered, loads_after_stores, ..Columns::default() };
        if beyond && each.saturating_mul(p.nodes) <= MOST_WORDS {
            return Columns { each_address: true, shared: each, width: each, ..columns };
        }
        columns.shared = if locks { 4 } else { 2 } * threads;
        columns.width = columns.shared;
        let own_locks = locks && !(in_order(Kind::Acquire) && in_order(Kind::Release));
        if !in_order(Kind::Store) || own_locks {
            columns.own_stores = Some(columns.width);
            columns.width += threads;
        }
        if (!in_order(Kind::Load) && loads_ordered) || own_locks {
            columns.own_loads = Some(columns.width);
            columns.width += threads;
        }
        columns
    }

    /// From which place on all reads of `x`, an address or a lock (`lock`), in thread `t` are after a node on `x`.
    #[inline]
    fn loads_from(&self, row: &[u32], x: usize, lock: bool, t: usize) -> u32 {
        if self.each_address {
            return row[2 * x * self.threads + t];
        }
        let shared = row[if lock { 3 * self.threads } else { 0 } + t];
        self.own_loads.map_or(shared, |column| shared.min(row[column + t]))
    }

    /// The same for writes.
    #[inline]
    fn stores_from(&self, row: &[u32], x: usize, lock: bool, t: usize) -> u32 {
        if self.each_address {
            return row[(2 * x + 1) * self.threads + t];
        }
        let shared =
            if lock { row[2 * self.threads + t].max(row[3 * self.threads + t]) } else { row[self.threads + t] };
        self.own_stores.map_or(shared, |column| shared.min(row[column + t]))
    }
}

/// A run of one thread's accesses to one address in the lists of [`Saturator`].
#[derive(Clone, Copy)]
struct Segment {
    thread: u32,
    loads: (u32, u32),
    stores: (u32, u32),
}

#[derive(Default)]
pub(crate) struct Saturator {
    columns: Columns,
    clocks: Vec<u32>,
    /// Per address a range of segments.
    addr_segments: Vec<u32>,
    segments: Vec<Segment>,
    loads: Vec<u32>,
    stores: Vec<u32>,
    /// Per entry of `loads`: the next entry of the segment that reads another write.
    next_other: Vec<u32>,
    /// The promises of the node of an operation or barrier: all of these kinds in the rest of its thread.
    promises: Vec<Kinds>,
    /// Is it a lock?
    lock: Vec<bool>,
}

impl Saturator {
    /// Bytes that the clocks of this problem take.
    pub fn bytes(trace: &Trace, model: &Model, p: &Problem) -> usize {
        Columns::new(trace, model, p).width * 4 * (p.nodes + 8)
    }

    /// Prepares for a problem.
    pub fn start(&mut self, trace: &Trace, model: &Model, p: &Problem) {
        self.columns = Columns::new(trace, model, p);
        self.group(p);
        self.promises.clear();
        self.lock.clear();
        self.lock.resize(p.addrs, false);
        for t in 0..trace.threads() {
            for &op in trace.thread_ops(ThreadId(t as u32)) {
                let kind = trace.kind(op);
                self.promises.push(if kind == OpKind::Fence {
                    crate::ppo::first_collected(trace, model, op)
                } else {
                    Kinds(kind.kinds().iter().fold(0, |all, kind| all | self.columns.promises[kind as usize].0))
                });
                if kind.locks() {
                    self.lock[trace.addr(op).index()] = true;
                }
            }
        }
    }

    /// Lists each address's accesses by thread.
    fn group(&mut self, p: &Problem) {
        let mut by_addr: Vec<u32> = vec![0; p.addrs + 1];
        for &x in &p.addr[..p.ops] {
            if x != NONE {
                by_addr[x as usize + 1] += 1;
            }
        }
        for x in 0..p.addrs {
            by_addr[x + 1] += by_addr[x];
        }
        let mut fill = by_addr.clone();
        let mut nodes = vec![0u32; by_addr[p.addrs] as usize];
        for node in 0..p.ops {
            let x = p.addr[node];
            if x != NONE {
                nodes[fill[x as usize] as usize] = node as u32;
                fill[x as usize] += 1;
            }
        }
        self.segments.clear();
        self.loads.clear();
        self.stores.clear();
        self.addr_segments.clear();
        for x in 0..p.addrs {
            self.addr_segments.push(self.segments.len() as u32);
            let accesses = &nodes[by_addr[x] as usize..by_addr[x + 1] as usize];
            let mut at = 0;
            while at < accesses.len() {
                let thread = p.thread(accesses[at]);
                let end = at + accesses[at..].partition_point(|&node| node < p.thread_start[thread + 1]);
                let (loads, stores) = (self.loads.len() as u32, self.stores.len() as u32);
                for &node in &accesses[at..end] {
                    if p.reads(node) {
                        self.loads.push(node);
                    }
                    if p.writes(node) {
                        self.stores.push(node);
                    }
                }
                self.segments.push(Segment {
                    thread: thread as u32,
                    loads: (loads, self.loads.len() as u32),
                    stores: (stores, self.stores.len() as u32),
                });
                at = end;
            }
        }
        self.addr_segments.push(self.segments.len() as u32);
        self.next_other.clear();
        self.next_other.resize(self.loads.len(), NONE);
        for segment in &self.segments {
            let (start, end) = segment.loads;
            for i in (start..end.saturating_sub(1)).rev() {
                let (here, next) = (self.loads[i as usize], self.loads[i as usize + 1]);
                self.next_other[i as usize] =
                    if p.src[here as usize] != p.src[next as usize] { i + 1 } else { self.next_other[i as usize + 1] };
            }
        }
    }

    /// One pass over all stores.
    pub fn pass(&mut self, p: &mut Problem, sorter: &mut Sorter, limits: &Limits) -> Pass {
        if !sorter.sort(p) {
            return Pass::Cyclic;
        }
        if let Some(reason) = self.compute_clocks(p, sorter, limits) {
            return Pass::Limit(reason);
        }
        let before = p.extras.len();
        for x in 0..p.addrs {
            if let Some(impossible) = self.infer(p, &sorter.rank, x, before as u32) {
                return impossible;
            }
            if x % 16 == 0
                && let Some(reason) = limits.passed()
            {
                return Pass::Limit(reason);
            }
        }
        Pass::Added(p.extras.len() - before)
    }

    fn compute_clocks(&mut self, p: &Problem, sorter: &Sorter, limits: &Limits) -> Option<Undecided> {
        let Columns { width, threads, each_address, shared, own_loads, own_stores, .. } = self.columns;
        let Columns { loads_ordered, loads_after_stores, .. } = self.columns;
        self.clocks.clear();
        self.clocks.resize(p.nodes * width, NONE);
        for (i, &node) in sorter.order.iter().rev().enumerate() {
            if i % 4096 == 0
                && let Some(reason) = limits.passed()
            {
                return Some(reason);
            }
            let at = node as usize * width;
            // Take this node's clock out so that others can be read meanwhile.
            let (x, clocks) = (p.addr[node as usize], &mut self.clocks);
            let mut row = Row { clocks, at, width };
            sorter.each_successor(p, node, |next| {
                let same = width > shared && x != NONE && p.addr[next as usize] == x;
                row.take_min(next as usize * width, if same { width } else { shared });
            });
            if (node as usize) >= p.ops {
                continue;
            }
            let t = p.thread(node);
            let row = &mut self.clocks[at..at + width];
            let mut promise = |column: usize| row[column + t] = row[column + t].min(node);
            let (reads, writes) = (p.reads(node), p.writes(node));
            if each_address {
                // Its successors have already covered everything else that it is before.
                if reads && loads_ordered {
                    promise(2 * x as usize * threads);
                }
                if writes {
                    promise((2 * x as usize + 1) * threads);
                }
                continue;
            }
            for kind in self.promises[node as usize].iter() {
                if (kind as usize) * threads < shared {
                    promise(kind as usize * threads);
                }
            }
            if x == NONE {
                continue;
            }
            // On its own address: loads come before all that follows but loads that are not in order, stores before
            // stores, operations on a lock before each other.
            let lock = self.lock[x as usize];
            if let Some(column) = own_loads
                && (lock || (reads && loads_ordered) || (writes && loads_after_stores))
            {
                promise(column);
            }
            if let Some(column) = own_stores
                && (lock || reads || writes)
            {
                promise(column);
            }
            // A place counts its own operation as reached, which is so for its own kind.
            if let Some(column) = own_stores
                && writes
            {
                self.merge_own(p, node, column);
            }
        }
        None
    }

    /// Own-address columns of the first store of the address in each thread after `store`.
    fn merge_own(&mut self, p: &Problem, store: u32, column: usize) {
        let width = self.columns.width;
        let x = p.addr[store as usize] as usize;
        let at = store as usize * width;
        for s in self.addr_segments[x]..self.addr_segments[x + 1] {
            let segment = self.segments[s as usize];
            let t = segment.thread as usize;
            let from = self.columns.stores_from(&self.clocks[at..at + width], x, self.lock[x], t);
            let list = &self.stores[segment.stores.0 as usize..segment.stores.1 as usize];
            let first = list.partition_point(|&node| node < from || (node == store));
            if let Some(&next) = list.get(first)
                && next != store
            {
                let mut row = Row { clocks: &mut self.clocks, at: at + column, width: width - column };
                row.take_min(next as usize * width + column, width - column);
            }
        }
    }

    /// Is `later`, a store, after `node`, whose address is the store's, by the clocks?
    #[inline]
    fn reaches_store(&self, p: &Problem, node: u32, later: u32) -> bool {
        let width = self.columns.width;
        let (row, x) = (&self.clocks[node as usize * width..][..width], p.addr[later as usize] as usize);
        later >= self.columns.stores_from(row, x, self.lock[x], p.thread(later))
    }

    /// R6 and R7 for the stores of one address.
    fn infer(&mut self, p: &mut Problem, rank: &[u32], x: usize, limit: u32) -> Option<Pass> {
        let (columns, width, lock) = (self.columns, self.columns.width, self.lock[x]);
        let range = self.addr_segments[x] as usize..self.addr_segments[x + 1] as usize;
        let mut next_store: Vec<u32> = vec![0; range.len()];
        let mut next_load: Vec<u32> = vec![0; range.len()];
        let mut candidates: Vec<(u32, u32, u32)> = Vec::new();
        for chain in range.clone() {
            for (k, s) in range.clone().enumerate() {
                next_store[k] = self.segments[s].stores.1;
                next_load[k] = self.segments[s].loads.1;
            }
            let (start, end) = self.segments[chain].stores;
            for i in (start..end).rev() {
                let store = self.stores[i as usize];
                let row = &self.clocks[store as usize * width..][..width];
                // R7
                candidates.clear();
                if !p.readers(store).is_empty() {
                    for (k, s) in range.clone().enumerate() {
                        let segment = &self.segments[s];
                        let t = segment.thread as usize;
                        let from = columns.stores_from(row, x, lock, t);
                        let mut at = next_store[k];
                        while at > segment.stores.0 && self.stores[at as usize - 1] >= from {
                            at -= 1;
                        }
                        next_store[k] = at;
                        if at < segment.stores.1 && self.stores[at as usize] == store {
                            at += 1;
                        }
                        if at < segment.stores.1 {
                            let later = self.stores[at as usize];
                            candidates.push((rank[later as usize], later, NONE));
                        }
                    }
                    self.minimal(p, &mut candidates);
                    for &(_, later, _) in &candidates {
                        for r in p.reader_start[store as usize]..p.reader_start[store as usize + 1] {
                            let load = p.readers[r as usize];
                            if load != later && !self.reaches_store(p, load, later) {
                                p.extras.push(Extra::new(load, later, Why::AfterRead { limit }));
                            }
                        }
                    }
                }
                // R6
                candidates.clear();
                for (k, s) in range.clone().enumerate() {
                    let segment = &self.segments[s];
                    let t = segment.thread as usize;
                    let from = columns.loads_from(row, x, lock, t);
                    let mut at = next_load[k];
                    while at > segment.loads.0 && self.loads[at as usize - 1] >= from {
                        at -= 1;
                    }
                    next_load[k] = at;
                    if at < segment.loads.1
                        && (p.src[self.loads[at as usize] as usize] == store || self.loads[at as usize] == store)
                    {
                        at = if self.loads[at as usize] == store { at + 1 } else { self.next_other[at as usize] };
                        if at < segment.loads.1 && p.src[self.loads[at as usize] as usize] == store {
                            at = self.next_other[at as usize];
                        }
                    }
                    if at < segment.loads.1 {
                        let load = self.loads[at as usize];
                        let src = p.src[load as usize];
                        if p.is_init(src) {
                            return Some(Pass::BeforeInit { write: store, load });
                        }
                        if !self.reaches_store(p, store, src) {
                            candidates.push((rank[src as usize], src, load));
                        }
                    }
                }
                self.minimal(p, &mut candidates);
                for &(_, src, load) in &candidates {
                    p.extras.push(Extra::new(store, src, Why::BeforeRead { load, limit }));
                }
            }
        }
        None
    }

    /// Keeps the candidates (stores of one address, with their rank) that no other one is before.
    fn minimal(&self, p: &Problem, candidates: &mut Vec<(u32, u32, u32)>) {
        if candidates.len() < 2 {
            return;
        }
        candidates.sort_unstable();
        let mut kept = 1;
        for i in 1..candidates.len() {
            let store = candidates[i].1;
            let implied =
                candidates[..kept].iter().any(|&(_, first, _)| first == store || self.reaches_store(p, first, store));
            if !implied {
                candidates[kept] = candidates[i];
                kept += 1;
            }
        }
        candidates.truncate(kept);
    }
}

/// One clock among all, so that another can be merged into it.
struct Row<'a> {
    clocks: &'a mut [u32],
    at: usize,
    width: usize,
}

impl Row<'_> {
    #[inline]
    fn take_min(&mut self, other: usize, width: usize) {
        debug_assert!(width <= self.width);
        let (into, from) = if self.at < other {
            let (low, high) = self.clocks.split_at_mut(other);
            (&mut low[self.at..self.at + width], &high[..width])
        } else {
            let (low, high) = self.clocks.split_at_mut(self.at);
            (&mut high[..width], &low[other..other + width])
        };
        for (a, b) in into.iter_mut().zip(from) {
            *a = (*a).min(*b);
        }
    }
}
