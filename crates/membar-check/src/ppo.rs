//! Preserved program order as few edges.
//!
//! Problem: the model orders pairs of one thread's operations (by kind, by address, by time, across barriers). List
//! edges whose transitive closure, seen from operations, is exactly that order.
//!
//! Algorithm: one walk along each thread.
//! 1. *Always* entries between kinds that are themselves in order (loads among loads, stores among stores) need only
//!    the last operation of the earlier kind.
//! 2. *Always* entries from a kind that is not in order among itself, and barriers, use a *collector*: a node after all
//!    operations of the earlier kinds and before all of the later kinds. Collectors of one kind pair form a chain, so an
//!    operation gets one edge into the next collector and one out of the last.
//! 3. *Same-address* entries keep the last store and the last load (or, where loads of one address are unordered, all
//!    loads since the last store) of each address.
//! 4. *Time* entries use a chain of collectors sorted by time: an operation that ended at `e` enters the chain at `e`,
//!    one that began at `b` leaves it just before `b`. Where the chain would relate a later operation to an earlier one,
//!    the thread is split in halves: each half by itself, then the first half to the second.
//!
//! Complexity: O(n) edges, O(n log n) with time entries on threads whose operations began out of program order.
//!
//! Guarantees: a path between two operations of one thread that passes only collectors implies that the *pair itself*
//! is ordered by the model or by one barrier between them; proofs rely on this to name one rule for it.

use membar_core::{Mask, Model, OpId, OpKind, Trace};

/// Edges and collectors of one trace.
#[derive(Default)]
pub(crate) struct PpoEdges {
    /// (earlier, later), nodes numbered as in [`crate::problem::Problem`].
    pub edges: Vec<(u32, u32)>,
    /// Next unused node.
    pub next_node: u32,
    scratch: Scratch,
}

const NONE: u32 = u32::MAX;

/// The kinds of operation on one side of a collector: loads, stores or both, as bits 1 and 2.
type Kinds = u8;
const LOADS: Kinds = 1;
const STORES: Kinds = 2;

/// All collectors of one pair of kind sets, in one thread.
#[derive(Default)]
struct Chain {
    from: Kinds,
    to: Kinds,
    /// The last collector, and the place in program order where it was made.
    tail: Option<(u32, u32)>,
    /// The last load and the last store not yet behind a collector, where each stands for all earlier ones.
    last: [Option<u32>; 2],
    /// Other operations not yet behind a collector.
    pending: Vec<u32>,
}

impl Chain {
    fn waits(&self) -> bool {
        !self.pending.is_empty() || self.last != [None; 2]
    }
}

#[derive(Default)]
struct Scratch {
    chains: Vec<Chain>,
    last_load: Vec<u32>,
    last_store: Vec<u32>,
    /// Loads of an address since its last store, linked, where they are not ordered among themselves.
    open_loads: Vec<u32>,
    next_open: Vec<u32>,
    touched: Vec<u32>,
    preds: Vec<u32>,
}

fn kinds(kind: OpKind) -> Kinds {
    (kind.loads() as u8) | (kind.stores() as u8) << 1
}

/// Splits a mask into rectangles of kinds: at most two.
fn rectangles(mask: Mask) -> impl Iterator<Item = (Kinds, Kinds)> {
    let row = |stores: bool| {
        (mask.contains(Mask::pair(stores, false)) as u8) | (mask.contains(Mask::pair(stores, true)) as u8) << 1
    };
    let (loads, stores) = (row(false), row(true));
    let both = if loads == stores { [(LOADS | STORES, loads), (0, 0)] } else { [(LOADS, loads), (STORES, stores)] };
    both.into_iter().filter(|&(from, to)| from != 0 && to != 0)
}

/// The rectangle of a barrier's mask for which its own node is the collector.
pub(crate) fn first_rectangle(mask: Mask) -> (Kinds, Kinds) {
    rectangles(mask).next().unwrap_or((0, 0))
}

impl PpoEdges {
    /// Lists the edges of `trace` under `model`. Nodes `0..n` are the operations in (thread, program order) order;
    /// collectors are numbered from `first_collector`.
    pub fn build(&mut self, trace: &Trace, model: &Model, first_collector: u32) {
        self.edges.clear();
        self.next_node = first_collector;
        let always = model.ppo.always();
        let s = &mut self.scratch;
        let addrs = trace.addrs();
        for column in [&mut s.last_load, &mut s.last_store, &mut s.open_loads] {
            column.clear();
            column.resize(addrs, NONE);
        }
        s.next_open.clear();
        if !model.ppo.load_load.on_one_address() {
            s.next_open.resize(trace.len(), NONE);
        }
        // Collectors that the model itself needs: an always-entry whose earlier kind is not in order.
        let ordered = |stores: bool| always.contains(Mask::pair(stores, stores));
        let mut implicit = Mask::NONE;
        for (pair, _, _) in Mask::PAIRS {
            let stores = pair.intersects(Mask::STORE_LOAD | Mask::STORE_STORE);
            if always.contains(pair) && !ordered(stores) {
                implicit = implicit | pair;
            }
        }
        let mut base = 0u32;
        for t in 0..trace.threads() {
            let ops = trace.thread_ops(membar_core::ThreadId(t as u32));
            self.thread(trace, model, always, implicit, ops, base);
            if trace.has_times() {
                self.time(trace, model, ops, base);
            }
            base += ops.len() as u32;
        }
    }

    fn thread(&mut self, trace: &Trace, model: &Model, always: Mask, implicit: Mask, ops: &[OpId], base: u32) {
        let ppo = &model.ppo;
        let PpoEdges { edges, next_node, scratch: s } = self;
        s.chains.clear();
        for (from, to) in rectangles(implicit) {
            s.chains.push(Chain { from, to, ..Chain::default() });
        }
        let implicit_chains = s.chains.len();
        for &op in ops {
            if trace.kind(op) == OpKind::Fence {
                let mask = trace.mask(op).unwrap_or(model.sync) & !always;
                for (from, to) in rectangles(mask) {
                    if !s.chains.iter().any(|chain| chain.from == from && chain.to == to) {
                        s.chains.push(Chain { from, to, ..Chain::default() });
                    }
                }
            }
        }
        let loads_ordered = always.contains(Mask::LOAD_LOAD);
        let stores_ordered = always.contains(Mask::STORE_STORE);
        let load_list = !ppo.load_load.on_one_address();
        // An operation of an ordered kind stands for all earlier ones of that kind.
        let ordered_kinds: Kinds = (loads_ordered as u8 * LOADS) | (stores_ordered as u8 * STORES);
        let (mut last_load, mut last_store) = (NONE, NONE);
        let kind_of = |node: u32| kinds(trace.kind(ops[(node - base) as usize]));

        for (i, &op) in ops.iter().enumerate() {
            let node = base + i as u32;
            let kind = trace.kind(op);
            if kind == OpKind::Fence {
                let mask = trace.mask(op).unwrap_or(model.sync) & !always;
                for (from, to) in rectangles(mask) {
                    let chain = s.chains.iter_mut().find(|c| c.from == from && c.to == to).expect("made above");
                    // The fence's own node serves as its first collector.
                    let collector = if (from, to) == first_rectangle(mask) {
                        node
                    } else {
                        *next_node += 1;
                        *next_node - 1
                    };
                    collect(chain, collector, node, edges);
                }
                continue;
            }
            let me = kinds(kind);
            let (loads, stores) = (kind.loads(), kind.stores());
            for chain in &mut s.chains[..implicit_chains] {
                if chain.to & me != 0 && chain.waits() {
                    *next_node += 1;
                    collect(chain, *next_node - 1, node, edges);
                }
            }
            s.preds.clear();
            let entry_always = |earlier_stores: bool| {
                (loads && always.contains(Mask::pair(earlier_stores, false)))
                    || (stores && always.contains(Mask::pair(earlier_stores, true)))
            };
            let mut wanted = |pred: u32| {
                if pred != NONE && !s.preds.contains(&pred) {
                    s.preds.push(pred);
                }
            };
            if loads_ordered && entry_always(false) {
                wanted(last_load);
            }
            if stores_ordered && entry_always(true) {
                wanted(last_store);
            }
            let x = trace.addr(op).index();
            if s.last_load[x] == NONE && s.last_store[x] == NONE {
                s.touched.push(x as u32);
            }
            let same = |earlier_stores: bool| {
                (loads && ppo.entry(earlier_stores, false).same_address)
                    || (stores && ppo.entry(earlier_stores, true).same_address)
            };
            if same(true) {
                wanted(s.last_store[x]);
            }
            if same(false) {
                if load_list {
                    let mut open = s.open_loads[x];
                    while open != NONE {
                        wanted(open);
                        open = s.next_open[open as usize];
                    }
                } else {
                    wanted(s.last_load[x]);
                }
            }
            // Of two predecessors that are always in order, the later one stands for both.
            let implied = |a: u32, b: u32| {
                let (ka, kb) = (kind_of(a), kind_of(b));
                a < b
                    && [(LOADS, LOADS), (LOADS, STORES), (STORES, LOADS), (STORES, STORES)].iter().any(|&(f, t)| {
                        ka & f != 0 && kb & t != 0 && always.contains(Mask::pair(f == STORES, t == STORES))
                    })
            };
            for &pred in &s.preds {
                if s.preds.len() > 4 || !s.preds.iter().any(|&other| implied(pred, other)) {
                    edges.push((pred, node));
                }
            }
            for chain in &mut s.chains {
                if chain.to & me != 0
                    && let Some((collector, place)) = chain.tail
                {
                    // A predecessor after the collector, of a kind that it covers, is already behind it.
                    let covered = s.preds.iter().any(|&pred| pred > place && kind_of(pred) & chain.to != 0);
                    if !covered {
                        edges.push((collector, node));
                    }
                }
                let from = chain.from & me;
                if from & LOADS & ordered_kinds != 0 {
                    chain.last[0] = Some(node);
                }
                if from & STORES & ordered_kinds != 0 {
                    chain.last[1] = Some(node);
                }
                if from & !ordered_kinds != 0 {
                    chain.pending.push(node);
                }
            }
            if loads {
                last_load = node;
                s.last_load[x] = node;
                if load_list {
                    s.next_open[node as usize] = s.open_loads[x];
                    s.open_loads[x] = node;
                }
            }
            if stores {
                last_store = node;
                s.last_store[x] = node;
                // Earlier loads of the address are behind this store, which is behind every later one.
                s.open_loads[x] = NONE;
                if loads && load_list {
                    s.next_open[node as usize] = NONE;
                    s.open_loads[x] = node;
                }
            }
        }
        for x in s.touched.drain(..) {
            s.last_load[x as usize] = NONE;
            s.last_store[x as usize] = NONE;
            s.open_loads[x as usize] = NONE;
        }
    }

    /// Time entries of one thread.
    fn time(&mut self, trace: &Trace, model: &Model, ops: &[OpId], base: u32) {
        let ppo = &model.ppo;
        let later = |stores: bool| {
            (ppo.entry(stores, false).time as u8 * LOADS) | (ppo.entry(stores, true).time as u8 * STORES)
        };
        let (after_loads, after_stores) = (later(false), later(true));
        let groups: [(Kinds, Kinds); 2] = if after_loads == after_stores {
            [(LOADS | STORES, after_loads), (0, 0)]
        } else {
            [(LOADS, after_loads), (STORES, after_stores)]
        };
        for (from, to) in groups {
            if from == 0 || to == 0 {
                continue;
            }
            let mut timed: Vec<Timed> = Vec::new();
            for (i, &op) in ops.iter().enumerate() {
                let (me, span) = (kinds(trace.kind(op)), trace.span(op));
                let begin = span.begin.filter(|_| me & to != 0);
                let end = span.end.filter(|_| me & from != 0);
                if begin.is_some() || end.is_some() {
                    timed.push(Timed { node: base + i as u32, begin, end });
                }
            }
            self.time_range(&timed);
        }
    }

    fn time_range(&mut self, timed: &[Timed]) {
        if timed.len() < 2 {
            return;
        }
        // Would one chain for all relate a later operation to an earlier one?
        let mut latest = None;
        let backwards = timed.iter().any(|op| {
            let wrong = matches!((op.end, latest), (Some(end), Some(begin)) if end < begin);
            latest = latest.max(op.begin);
            wrong
        });
        if !backwards {
            self.time_chain(timed, timed);
        } else {
            let (first, second) = timed.split_at(timed.len() / 2);
            self.time_range(first);
            self.time_range(second);
            self.time_chain(first, second);
        }
    }

    fn time_chain(&mut self, from: &[Timed], to: &[Timed]) {
        let mut ends: Vec<(u64, u32)> = from.iter().filter_map(|op| Some((op.end?, op.node))).collect();
        let mut begins: Vec<(u64, u32)> = to.iter().filter_map(|op| Some((op.begin?, op.node))).collect();
        ends.sort_unstable();
        begins.sort_unstable();
        let mut entered = 0;
        let mut tail = NONE;
        for (begin, node) in begins {
            let upto = entered + ends[entered..].partition_point(|&(end, _)| end < begin);
            if upto > entered {
                let collector = self.next_node;
                self.next_node += 1;
                self.edges.extend(ends[entered..upto].iter().map(|&(_, from)| (from, collector)));
                if tail != NONE {
                    self.edges.push((tail, collector));
                }
                (tail, entered) = (collector, upto);
            }
            if tail != NONE {
                self.edges.push((tail, node));
            }
        }
    }
}

/// An operation that can be on either side of a time entry.
#[derive(Clone, Copy)]
struct Timed {
    node: u32,
    begin: Option<u64>,
    end: Option<u64>,
}

/// Makes `collector` the chain's next one, at `place` in program order.
fn collect(chain: &mut Chain, collector: u32, place: u32, edges: &mut Vec<(u32, u32)>) {
    edges.extend(chain.pending.drain(..).map(|op| (op, collector)));
    edges.extend(chain.last.iter_mut().filter_map(|last| last.take()).map(|op| (op, collector)));
    if let Some((tail, _)) = chain.tail {
        edges.push((tail, collector));
    }
    chain.tail = Some((collector, place));
}
