//! Is a total order a memory order of the trace?
//!
//! Problem: n operations, an order of them, a model; check the points of the crate documentation.
//!
//! Algorithm:
//! 1. Walk the order once. Give each operation its place, keep the current value of each address, and compare what
//!    reads returned. A plain load that returned something else may still have read its own thread's store early: it
//!    is marked stale. A store that its thread's reservation ties to another write has to find that one's value. The values left at the end are the final ones.
//! 2. Walk each thread once ([`Past`]). For a later operation, only the largest place among the earlier ones that must
//!    precede it matters. A load whose thread has an earlier store to the address at a larger place returns the largest
//!    such store; every other one must not be stale.
//! 3. Where all threads share a clock, walk the order backwards with the earliest end among what was done at its end: no
//!    operation that is placed before that one began after it.
//! 4. Walk the order again for `order` lines and for locks, where there are any.
//! 5. Where accesses have several pieces, see that those are neighbours.
//! 6. Where the model has no write order, the order is one way to lay out a partial one, and a read returned what was
//!    last in it or is stale. Stale ones are left to [`Overwritten`]. Nothing else can be overwritten: whatever
//!    overwrites a write comes after it in each such layout.
//!
//! Invariants: places count from 1, so 0 is "none" in every maximum; two operations never share a place.
//!
//! Complexity: O(n + a), times the number of locks that a thread holds at once or that guard an address, and O(n log n)
//! where periods count; nothing is allocated once the buffers have grown. For step 6 see there.

use crate::Flaw;
use crate::locks::Locks;
use crate::overwritten::Overwritten;
use crate::past::{Join, Past};
use crate::said::Reserved;
use membar_core::{AddrId, Compare, Event, Model, OpId, OpKind, Trace};

/// Buffers, kept between traces.
#[derive(Default, Debug)]
pub(crate) struct Scratch {
    /// Per operation: its place in the order, from 1.
    place: Vec<u32>,
    /// Per operation: a read that did not return the address's value at its place in the order.
    stale: Vec<bool>,
    /// Per address: its value at this point of the order.
    value: Vec<u64>,
    past: Past,
    reserved: Reserved,
    /// Per address: one more than the index of its `order` line, and how many of its values have been met.
    line: Vec<(u32, u32)>,
    locks: Locks,
    /// Per lock: one more than the last operation on it.
    last: Vec<u32>,
    overwritten: Overwritten,
}

/// The largest place.
struct Places<'a>(&'a [u32]);

impl Join for Places<'_> {
    #[inline]
    fn of(&self, op: OpId) -> u32 {
        self.0[op.index()]
    }

    #[inline]
    fn join(&mut self, a: u32, b: u32) -> u32 {
        a.max(b)
    }
}

impl Scratch {
    pub(crate) fn check(&mut self, trace: &Trace, model: &Model, order: &[OpId]) -> Result<(), Flaw> {
        self.reserved.read(trace);
        if let Some(op) = self.reserved.unreserved() {
            return Err(Flaw::Unreserved(op));
        }
        let locks = self.walk_order(trace, model, order)?;
        if trace.is_grouped() {
            self.check_pieces(trace)?;
        }
        self.walk_threads(trace, model, order)?;
        if trace.has_times() && trace.compare() == Compare::Everything {
            check_time(trace, model, order)?;
        }
        if model.write_order {
            for end in &trace.finals {
                let gives = self.value[end.addr.index()];
                if gives != end.value {
                    return Err(Flaw::FinalValue { addr: end.addr, gives });
                }
            }
        }
        if !trace.orders.is_empty() {
            self.check_write_order(trace, order)?;
        }
        if locks && model.lock_exclusion {
            self.check_locks(trace, order)?;
        }
        if !model.write_order {
            let stale_end = trace.finals.iter().any(|end| self.value[end.addr.index()] != end.value);
            if stale_end || order.iter().any(|op| self.stale[op.index()]) {
                self.overwritten.check(trace, model, order, &self.place, &mut self.past)?;
            }
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
        let holds = self.reserved.holds_any() && model.write_order;
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
                OpKind::Store => {
                    let value = &mut self.value[trace.addr(op).index()];
                    if holds && self.reserved.finds(op).is_some_and(|finds| finds != *value) {
                        return Err(Flaw::Reservation { store: op, finds: *value });
                    }
                    *value = trace.write(op);
                }
                OpKind::Load | OpKind::Rmw => {
                    let value = &mut self.value[trace.addr(op).index()];
                    if *value != trace.read(op) {
                        if model.write_order && (kind == OpKind::Rmw || !model.store_forwarding) {
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

    /// The pieces of an access are neighbours, in their order. (The first piece's place is the access's.)
    fn check_pieces(&self, trace: &Trace) -> Result<(), Flaw> {
        let mut last: Option<OpId> = None;
        for op in trace.memory_ops() {
            if let Some(before) = last.filter(|&before| trace.group(before) == trace.group(op))
                && self.place[op.index()] != self.place[before.index()] + 1
            {
                return Err(Flaw::Pieces { first: before, second: op });
            }
            last = Some(op);
        }
        Ok(())
    }

    /// Step 2.
    fn walk_threads(&mut self, trace: &Trace, model: &Model, order: &[OpId]) -> Result<(), Flaw> {
        let (stale, forwards) = (&self.stale, model.store_forwarding && model.write_order);
        self.past.walk(trace, model, &mut Places(&self.place), |places, op, before, own_store| {
            let place = places.of(op);
            if place == 0 {
                return Err(Flaw::Missing(op));
            }
            if before > place {
                return Err(Flaw::ProgramOrder { earlier: order[before as usize - 1], later: op });
            }
            if forwards && trace.kind(op) == OpKind::Load {
                if own_store > place {
                    let gives = trace.write(order[own_store as usize - 1]);
                    if gives != trace.read(op) {
                        return Err(Flaw::Value { read: op, gives });
                    }
                } else if stale[op.index()] {
                    return Err(Flaw::Value { read: op, gives: value_at(trace, order, place, trace.addr(op)) });
                }
            }
            Ok(())
        })
    }

    /// Step 4, `order` lines.
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

    /// Step 4, locks: an acquire and its release are neighbours among the operations on their lock.
    fn check_locks(&mut self, trace: &Trace, order: &[OpId]) -> Result<(), Flaw> {
        self.locks.pair(trace);
        self.last.clear();
        self.last.resize(trace.addrs(), 0);
        for &op in order {
            let kind = trace.kind(op);
            if !kind.locks() {
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

/// Step 3.
fn check_time(trace: &Trace, model: &Model, order: &[OpId]) -> Result<(), Flaw> {
    let mut first: Option<(u64, OpId)> = None;
    for &op in order.iter().rev() {
        let period = trace.period(op);
        if let (Some(begin), Some((end, earlier))) = (period.begin, first)
            && end < begin
        {
            return Err(Flaw::Time { earlier, later: op });
        }
        if let Some(end) = period.end.filter(|_| model.done_at_end(trace.kind(op)))
            && first.is_none_or(|(least, _)| end < least)
        {
            first = Some((end, op));
        }
    }
    Ok(())
}

/// The value of an address just before a place; for error messages only.
#[cold]
pub(crate) fn value_at(trace: &Trace, order: &[OpId], place: u32, addr: AddrId) -> u64 {
    let writes = |&&op: &&OpId| matches!(trace.kind(op), OpKind::Store | OpKind::Rmw) && trace.addr(op) == addr;
    match order[..place as usize - 1].iter().rev().find(writes) {
        Some(&op) => trace.write(op),
        None => trace.inits.iter().find(|init| init.addr == addr).map_or(0, |init| init.value),
    }
}
