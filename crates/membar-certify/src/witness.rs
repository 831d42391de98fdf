//! Is a total order a memory order of the trace?
//!
//! Problem: n operations, an order of them, a model; check the five points of the crate documentation.
//!
//! Algorithm:
//! 1. Walk the order once. Give each operation its place, keep the current value of each address, and compare what
//!    reads returned. A plain load that returned something else may still have read its own thread's store early: it
//!    is marked stale. What is left at the end are the final values.
//! 2. Walk each thread once. For a later operation, only the largest place among the earlier ones that must precede it
//!    matters, so keep maxima: of earlier loads and earlier stores, in the thread and per address, and what they were
//!    at each barrier. Where periods count, a prefix maximum (Fenwick tree) over the end times serves the same purpose.
//!    A load whose thread has an earlier store to the address at a larger place returns the largest such store; every
//!    other one must not be stale.
//! 3. Walk the order again for `order` lines and for locks, where there are any.
//!
//! Invariants: places count from 1, so 0 is "none" in every maximum; two operations never share a place.
//!
//! Complexity: O(n + a), and O(n log n) where periods count; nothing is allocated once the buffers have grown.

use crate::Flaw;
use crate::locks::Locks;
use membar_core::{AddrId, Event, Mask, Model, OpId, OpKind, ThreadId, Trace};

/// Buffers, kept between traces.
#[derive(Default, Debug)]
pub(crate) struct Scratch {
    /// Per operation: its place in the order, from 1.
    place: Vec<u32>,
    /// Per operation: a load that did not return the address's value in memory order.
    stale: Vec<bool>,
    /// Per address: its value at this point of the order.
    value: Vec<u64>,
    /// Per address: what the current thread did to it so far.
    own: Vec<Own>,
    ended: Ended,
    /// Per address: one more than the index of its `order` line, and how many of its values have been met.
    line: Vec<(u32, u32)>,
    locks: Locks,
    /// Per lock: one more than the last operation on it.
    last: Vec<u32>,
}

/// The largest places among a thread's earlier loads and stores.
#[derive(Clone, Copy, Default, Debug)]
struct Earlier {
    loads: u32,
    stores: u32,
}

impl Earlier {
    #[inline]
    fn add(&mut self, kind: OpKind, place: u32) {
        if kind.loads() {
            self.loads = self.loads.max(place);
        }
        if kind.stores() {
            self.stores = self.stores.max(place);
        }
    }
}

/// [`Earlier`] for one address; stale unless it is the current thread's.
#[derive(Clone, Copy, Default, Debug)]
struct Own {
    /// The thread, plus one.
    thread: u32,
    earlier: Earlier,
}

impl Scratch {
    pub(crate) fn check(&mut self, trace: &Trace, model: &Model, order: &[OpId]) -> Result<(), Flaw> {
        let locks = self.walk_order(trace, model, order)?;
        self.own.clear();
        self.own.resize(trace.addrs(), Own::default());
        let timed = trace.has_times() && KINDS.iter().any(|&(e, l)| model.ppo.entry(e, l).time);
        for thread in 0..trace.threads() as u32 {
            if timed {
                self.walk_thread::<true>(trace, model, order, ThreadId(thread))?;
            } else {
                self.walk_thread::<false>(trace, model, order, ThreadId(thread))?;
            }
        }
        for end in &trace.finals {
            let gives = self.value[end.addr.index()];
            if gives != end.value {
                return Err(Flaw::FinalValue { addr: end.addr, gives });
            }
        }
        if !trace.orders.is_empty() {
            self.check_write_order(trace, order)?;
        }
        if locks && model.lock_exclusion {
            self.check_locks(trace, order)?;
        }
        Ok(())
    }

    /// Step 1. Tells whether there are locks.
    fn walk_order(&mut self, trace: &Trace, model: &Model, order: &[OpId]) -> Result<bool, Flaw> {
        self.place.clear();
        self.place.resize(trace.len(), 0);
        self.stale.clear();
        self.stale.resize(trace.len(), false);
        self.value.clear();
        self.value.resize(trace.addrs(), 0);
        for init in &trace.inits {
            self.value[init.addr.index()] = init.value;
        }
        let mut locks = false;
        for (i, &op) in order.iter().enumerate() {
            let Some(place) = self.place.get_mut(op.index()) else {
                return Err(Flaw::NotMemory { place: i, op });
            };
            if *place != 0 {
                return Err(Flaw::Twice(op));
            }
            *place = i as u32 + 1;
            let kind = trace.kind(op);
            match kind {
                OpKind::Fence => return Err(Flaw::NotMemory { place: i, op }),
                OpKind::Acquire | OpKind::Release => locks = true,
                OpKind::Store => self.value[trace.addr(op).index()] = trace.write(op),
                OpKind::Load | OpKind::Rmw => {
                    let value = &mut self.value[trace.addr(op).index()];
                    if *value != trace.read(op) {
                        if kind == OpKind::Rmw || !model.store_forwarding {
                            return Err(Flaw::Value { read: op, gives: *value });
                        }
                        self.stale[op.index()] = true;
                    }
                    if kind == OpKind::Rmw {
                        *value = trace.write(op);
                    }
                }
            }
        }
        Ok(locks)
    }

    /// Step 2.
    fn walk_thread<const TIMED: bool>(
        &mut self,
        trace: &Trace,
        model: &Model,
        order: &[OpId],
        thread: ThreadId,
    ) -> Result<(), Flaw> {
        let ops = trace.thread_ops(thread);
        if TIMED {
            self.ended.start(trace, ops);
        }
        let ppo = &model.ppo;
        let mut all = Earlier::default();
        // What barriers put before later loads, and before later stores.
        let (mut load_floor, mut store_floor) = (0, 0);
        for &op in ops {
            let kind = trace.kind(op);
            if kind == OpKind::Fence {
                let mask = trace.mask(op).unwrap_or(model.sync);
                let in_mask = |pair, place| if mask.contains(pair) { place } else { 0 };
                let loads = in_mask(Mask::LOAD_LOAD, all.loads).max(in_mask(Mask::STORE_LOAD, all.stores));
                let stores = in_mask(Mask::LOAD_STORE, all.loads).max(in_mask(Mask::STORE_STORE, all.stores));
                load_floor = load_floor.max(loads);
                store_floor = store_floor.max(stores);
                continue;
            }
            let place = self.place[op.index()];
            if place == 0 {
                return Err(Flaw::Missing(op));
            }
            let own = &mut self.own[trace.addr(op).index()];
            if own.thread != thread.0 + 1 {
                *own = Own { thread: thread.0 + 1, earlier: Earlier::default() };
            }
            let here = &mut own.earlier;

            let ended = if TIMED { self.ended.before(trace, op) } else { Earlier::default() };
            let mut floor = 0;
            for (later_stores, counts, barrier) in
                [(false, kind.loads(), load_floor), (true, kind.stores(), store_floor)]
            {
                if !counts {
                    continue;
                }
                floor = floor.max(barrier);
                for (earlier_stores, all, here, ended) in
                    [(false, all.loads, here.loads, ended.loads), (true, all.stores, here.stores, ended.stores)]
                {
                    let when = ppo.entry(earlier_stores, later_stores);
                    if when.always {
                        floor = floor.max(all);
                    }
                    if when.same_address {
                        floor = floor.max(here);
                    }
                    if when.time {
                        floor = floor.max(ended);
                    }
                }
            }
            if floor > place {
                return Err(Flaw::ProgramOrder { earlier: order[floor as usize - 1], later: op });
            }

            if kind == OpKind::Load && model.store_forwarding {
                if here.stores > place {
                    let gives = trace.write(order[here.stores as usize - 1]);
                    if gives != trace.read(op) {
                        return Err(Flaw::Value { read: op, gives });
                    }
                } else if self.stale[op.index()] {
                    return Err(Flaw::Value { read: op, gives: value_at(trace, order, place, trace.addr(op)) });
                }
            }

            all.add(kind, place);
            here.add(kind, place);
            if TIMED {
                self.ended.add(trace, op, place);
            }
        }
        Ok(())
    }

    /// Step 3, `order` lines.
    fn check_write_order(&mut self, trace: &Trace, order: &[OpId]) -> Result<(), Flaw> {
        self.line.clear();
        self.line.resize(trace.addrs(), (0, 0));
        for (i, line) in trace.orders.iter().enumerate() {
            self.line[line.addr.index()].0 = i as u32 + 1;
        }
        for &op in order.iter().filter(|&&op| matches!(trace.kind(op), OpKind::Store | OpKind::Rmw)) {
            let (line, met) = &mut self.line[trace.addr(op).index()];
            if *line != 0 {
                if trace.orders[*line as usize - 1].values.get(*met as usize) != Some(&trace.write(op)) {
                    return Err(Flaw::WriteOrder(op));
                }
                *met += 1;
            }
        }
        Ok(())
    }

    /// Step 3, locks: an acquire and its release are neighbours among the operations on their lock.
    fn check_locks(&mut self, trace: &Trace, order: &[OpId]) -> Result<(), Flaw> {
        self.locks.pair(trace);
        self.last.clear();
        self.last.resize(trace.addrs(), 0);
        for &op in order {
            let kind = trace.kind(op);
            if !matches!(kind, OpKind::Acquire | OpKind::Release) {
                continue;
            }
            let last = &mut self.last[trace.addr(op).index()];
            let after = last.checked_sub(1).map(OpId);
            let taken = after.is_some_and(|after| trace.kind(after) == OpKind::Acquire);
            let partner = if kind == OpKind::Release { self.locks.partner(op) } else { None };
            let fits = if taken { partner == after } else { kind == OpKind::Acquire };
            if !fits {
                return Err(Flaw::Lock { op, after: after.map_or(Event::INIT, Event::from) });
            }
            *last = op.0 + 1;
        }
        Ok(())
    }
}

const KINDS: [(bool, bool); 4] = [(false, false), (false, true), (true, false), (true, true)];

/// The value of an address just before a place; for error messages only.
#[cold]
fn value_at(trace: &Trace, order: &[OpId], place: u32, addr: AddrId) -> u64 {
    let writes = |&&op: &&OpId| matches!(trace.kind(op), OpKind::Store | OpKind::Rmw) && trace.addr(op) == addr;
    match order[..place as usize - 1].iter().rev().find(writes) {
        Some(&op) => trace.write(op),
        None => trace.inits.iter().find(|init| init.addr == addr).map_or(0, |init| init.value),
    }
}

/// The largest places among a thread's earlier operations that ended before a given time.
#[derive(Default, Debug)]
struct Ended {
    /// The thread's end times, sorted.
    times: Vec<u64>,
    /// Fenwick tree of maxima over `times`, from index 1.
    tree: Vec<Earlier>,
}

impl Ended {
    fn start(&mut self, trace: &Trace, ops: &[OpId]) {
        self.times.clear();
        self.times.extend(ops.iter().filter_map(|&op| trace.span(op).end));
        self.times.sort_unstable();
        self.tree.clear();
        self.tree.resize(self.times.len() + 1, Earlier::default());
    }

    /// How many of the thread's operations ended before `time`.
    fn count_before(&self, time: u64) -> usize {
        self.times.partition_point(|&end| end < time)
    }

    fn add(&mut self, trace: &Trace, op: OpId, place: u32) {
        let Some(end) = trace.span(op).end else { return };
        let mut i = self.count_before(end) + 1;
        while i < self.tree.len() {
            self.tree[i].add(trace.kind(op), place);
            i += i & i.wrapping_neg();
        }
    }

    /// Among the earlier operations that ended before `op` began.
    fn before(&self, trace: &Trace, op: OpId) -> Earlier {
        let mut largest = Earlier::default();
        let Some(begin) = trace.span(op).begin else { return largest };
        let mut i = self.count_before(begin);
        while i > 0 {
            largest.loads = largest.loads.max(self.tree[i].loads);
            largest.stores = largest.stores.max(self.tree[i].stores);
            i &= i - 1;
        }
        largest
    }
}
