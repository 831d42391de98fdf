//! From values to writes.
//!
//! Problem: values identify writes; find for each read the write it returned, group operations by thread, pair locks,
//! and refuse traces in which a value does not identify one write.
//!
//! Algorithm: most machines number their stores, so written values are small and globally unique: then one table
//! indexed by value holds the write. The first value that two addresses share, or that is large, moves everything to
//! an open-addressing table keyed by (address, value).
//!
//! Where something was left out of a trace because values are repeated ([`Trace::left_out`]), nothing that is left reads such a
//! value, and it does not matter which of its writes is found.
//!
//! Complexity: O(n) expected; the tables are kept between traces, and are cleared only as far as they were used.

use crate::{AddrId, AddrName, Depends, Marks, OpId, OpKind, Source, ThreadId, Trace};

/// A trace that makes no sense. Lines are those of the text; the first is where the fault shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Malformed {
    /// One address, one value, two writes.
    WrittenTwice {
        /// The address.
        addr: AddrName,
        /// The value.
        value: u64,
        /// The second write.
        line: u64,
        /// The first write.
        other: u64,
    },
    /// A store of the address's initial value: a load could not tell them apart.
    WritesInitial {
        /// The address.
        addr: AddrName,
        /// The value.
        value: u64,
        /// The store.
        line: u64,
        /// The `init` line, if there is one; 0 is the default otherwise.
        init: Option<u64>,
    },
    /// An `init`, `final`, `order` or `guard` line repeated for one address.
    Repeated {
        /// `init`, `final`, `order` or `guard`.
        what: &'static str,
        /// The address.
        addr: AddrName,
        /// The second line.
        line: u64,
        /// The first line.
        other: u64,
    },
    /// An `order` line lists a value that nobody writes there.
    OrderUnwritten {
        /// The address.
        addr: AddrName,
        /// The value.
        value: u64,
        /// The `order` line.
        line: u64,
    },
    /// An `order` line lists a value twice.
    OrderTwice {
        /// The address.
        addr: AddrName,
        /// The value.
        value: u64,
        /// The `order` line.
        line: u64,
    },
    /// An `order` line misses a value that is written.
    OrderMisses {
        /// The address.
        addr: AddrName,
        /// The value.
        value: u64,
        /// The `order` line.
        line: u64,
        /// The write it misses.
        other: u64,
    },
    /// An `order` line of an address that is written in parts.
    OrderOfParts {
        /// The address.
        addr: AddrName,
        /// The `order` line.
        line: u64,
    },
    /// A release by a thread that does not hold the lock.
    ReleaseUnheld {
        /// The lock.
        lock: AddrName,
        /// The release.
        line: u64,
        /// The last operation on the lock before it in the text, if there is one: this thread's last release, or
        /// else another thread's.
        other: Option<u64>,
    },
    /// An acquire by a thread that already holds the lock.
    AcquireHeld {
        /// The lock.
        lock: AddrName,
        /// The second acquire.
        line: u64,
        /// The first.
        other: u64,
    },
    /// An acquire without a release.
    HeldAtEnd {
        /// The lock.
        lock: AddrName,
        /// The acquire.
        line: u64,
        /// Where the trace ends.
        end: u64,
    },
    /// A dependency on an operation before the thread's first.
    DependsOnNothing {
        /// The dependent operation.
        line: u64,
        /// What of it depends.
        how: Depends,
        /// How many operations earlier.
        back: u32,
    },
    /// A dependency on an operation that returns nothing.
    DependsOnStore {
        /// The dependent operation.
        line: u64,
        /// What of it depends.
        how: Depends,
        /// The earlier operation.
        other: u64,
    },
    /// A store conditional stored to another address than its load reserved read.
    OtherReservation {
        /// The address of the store conditional.
        addr: AddrName,
        /// The store conditional.
        line: u64,
        /// The load reserved.
        other: u64,
    },
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Malformed::WrittenTwice { addr, value, .. } => write!(f, "value {value} is written twice to {addr}"),
            Malformed::WritesInitial { addr, value, .. } => {
                write!(f, "{addr} is given its initial value {value} by a store")
            }
            Malformed::Repeated { what, addr, .. } => write!(f, "a second `{what}` line for {addr}"),
            Malformed::OrderUnwritten { addr, value, .. } => {
                write!(f, "the `order` line lists {value}, which nobody writes to {addr}")
            }
            Malformed::OrderTwice { addr, value, .. } => write!(f, "the `order` line of {addr} lists {value} twice"),
            Malformed::OrderMisses { addr, value, .. } => {
                write!(f, "the `order` line of {addr} misses the value {value}")
            }
            Malformed::OrderOfParts { addr, .. } => {
                write!(f, "an `order` line of {addr}, which overlaps other addresses")
            }
            Malformed::ReleaseUnheld { lock, .. } => {
                write!(f, "{lock} is released by a thread that does not hold it")
            }
            Malformed::AcquireHeld { lock, .. } => {
                write!(f, "{lock} is acquired by a thread that already holds it")
            }
            Malformed::HeldAtEnd { lock, .. } => write!(f, "{lock} is still held when the trace ends"),
            Malformed::DependsOnNothing { how, back, .. } => {
                write!(f, "`{how}(-{back})` goes back before the first operation of the thread")
            }
            Malformed::DependsOnStore { how, other, .. } => {
                write!(f, "`{how}` depends on line {other}, which returns nothing")
            }
            Malformed::OtherReservation { addr, .. } => {
                write!(f, "a store conditional to {addr} follows a load reserved of another address")
            }
        }
    }
}

impl std::error::Error for Malformed {}

/// Tables for [`Trace::resolve`], kept between traces.
#[derive(Default, Debug)]
pub struct ResolveScratch {
    by_value: Vec<u32>,
    table: Vec<u32>,
    pub(crate) lock_holder: rustc_hash::FxHashMap<(u32, u32), OpId>,
}

const EMPTY: u32 = u32::MAX;

/// Finds writes by (address, value).
enum Writes<'a> {
    ByValue(&'a [u32]),
    Hashed { table: &'a [u32], mask: usize },
}

#[inline]
fn slot(addr: AddrId, value: u64, mask: usize) -> usize {
    let mut h = value ^ (addr.0 as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    h ^= h >> 32;
    h = h.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    h ^= h >> 32;
    h as usize & mask
}

impl Writes<'_> {
    #[inline]
    fn find(&self, trace: &Trace, addr: AddrId, value: u64) -> Option<OpId> {
        match *self {
            Writes::ByValue(table) => {
                let op = *table.get(usize::try_from(value).ok()?)?;
                (op != EMPTY && trace.addr[op as usize] == addr).then_some(OpId(op))
            }
            Writes::Hashed { table, mask } => {
                let mut at = slot(addr, value, mask);
                loop {
                    let op = table[at];
                    if op == EMPTY {
                        return None;
                    }
                    if trace.write[op as usize] == value && trace.addr[op as usize] == addr {
                        return Some(OpId(op));
                    }
                    at = (at + 1) & mask;
                }
            }
        }
    }
}

impl Trace {
    /// Computes everything that follows from the pushed operations and lines; see [`Malformed`] for what can be wrong.
    pub fn resolve(&mut self, scratch: &mut ResolveScratch) -> Result<(), Malformed> {
        self.open = None;
        self.group_threads();
        self.read_lines()?;
        if self.resolve_mixed(scratch)? {
            return Ok(());
        }
        let writes = self.index_writes(scratch)?;
        self.find_sources(&writes);
        self.find_orders(&writes)?;
        self.find_dependencies()?;
        self.pair_reservations()?;
        self.pair_locks(&mut scratch.lock_holder)
    }

    /// The rest where values do not say what reads returned: dependencies, reservations and locks. No read has a source.
    pub(crate) fn resolve_without_sources(&mut self, scratch: &mut ResolveScratch) -> Result<(), Malformed> {
        self.rf.clear();
        self.rf.resize(self.kind.len(), Source::NONE);
        self.final_sources.clear();
        self.final_sources.resize(self.finals.len(), Source::NONE);
        self.order_ops.clear();
        self.find_dependencies()?;
        self.pair_reservations()?;
        self.unreserved = None;
        self.rf.fill(Source::NONE);
        self.pair_locks(&mut scratch.lock_holder)
    }

    fn find_dependencies(&mut self) -> Result<(), Malformed> {
        self.dep_start.clear();
        if self.deps.is_empty() {
            return Ok(());
        }
        self.dep_start.resize(self.kind.len() + 1, 0);
        for i in 0..self.deps.len() {
            let dep = self.deps[i];
            self.dep_start[dep.op.index() + 1] += 1;
            let line = self.line(dep.op);
            let Some(place) = self.po[dep.op.index()].checked_sub(dep.back).filter(|_| dep.back > 0) else {
                return Err(Malformed::DependsOnNothing { line, how: dep.how, back: dep.back });
            };
            let on = self.thread_ops(self.thread(dep.op))[place as usize];
            if !self.returns(on) {
                return Err(Malformed::DependsOnStore { line, how: dep.how, other: self.line(on) });
            }
            self.deps[i].on = on;
        }
        for i in 0..self.kind.len() {
            self.dep_start[i + 1] += self.dep_start[i];
        }
        Ok(())
    }

    /// Pairs each store conditional with the last load reserved of its thread, if no other of the two kinds stands between.
    /// It and its thread's stores to the address since then have to follow each other directly, beginning at the write that
    /// the load reserved returned: other threads' stores between them would have taken the reservation away. Where accesses
    /// have several pieces, each piece is paired with the one of its address.
    pub(crate) fn pair_reservations(&mut self) -> Result<(), Malformed> {
        self.reservations.clear();
        self.unreserved = None;
        if self.marks.is_empty() {
            return Ok(());
        }
        let (mut since, mut follows): (Vec<OpId>, Vec<OpId>) = (Vec::new(), Vec::new());
        // Loads reserved, and first halves of a split atomic: the pieces of the last access.
        let (mut reserved, mut half): (Vec<OpId>, Vec<OpId>) = (Vec::new(), Vec::new());
        for t in 0..self.threads() {
            reserved.clear();
            half.clear();
            // The store conditional whose pieces are being paired, if there was a reservation.
            let mut pairing = None;
            for place in 0..self.thread_ops(ThreadId(t as u32)).len() {
                let op = self.thread_ops(ThreadId(t as u32))[place];
                let (marks, addr) = (self.marks(op), self.addr(op));
                if pairing.is_some_and(|sc| sc != self.group(op)) {
                    pairing = None;
                    reserved.clear();
                }
                let at_address =
                    |loads: &[OpId], trace: &Trace| loads.iter().copied().find(|&load| trace.addr(load) == addr);
                if marks.meets(Marks::HALF) {
                    if self.kind(op) == OpKind::Load {
                        half.retain(|&load| self.group(load) == self.group(op));
                        half.push(op);
                    } else if let Some(load) = at_address(&half, self) {
                        self.reservations.push((op, load));
                        self.hold(load, &[op]);
                        if at_address(&reserved, self).is_some() {
                            since.push(op);
                        }
                    }
                } else if marks.meets(Marks::RESERVES) {
                    if reserved.last().is_none_or(|&load| self.group(load) != self.group(op)) {
                        reserved.clear();
                        since.clear();
                    }
                    reserved.push(op);
                } else if marks.meets(Marks::CONDITIONAL) {
                    if marks.meets(Marks::FAILED) {
                        reserved.clear();
                        continue;
                    }
                    pairing = Some(self.group(op));
                    if reserved.is_empty() {
                        self.unreserved.get_or_insert(op);
                        continue;
                    }
                    let Some(load) = at_address(&reserved, self) else {
                        let other = self.line(reserved[0]);
                        return Err(Malformed::OtherReservation {
                            addr: self.name_of(addr),
                            line: self.line(op),
                            other,
                        });
                    };
                    self.reservations.push((op, load));
                    follows.clear();
                    follows.extend(since.iter().copied().filter(|&store| self.addr(store) == addr));
                    follows.push(op);
                    self.hold(load, &follows);
                } else if at_address(&reserved, self).is_some() && self.kind(op).writes() {
                    since.push(op);
                }
            }
        }
        self.reservations.sort_unstable();
        Ok(())
    }

    /// The writes follow each other directly, beginning at the one that `load` returned.
    fn hold(&mut self, load: OpId, writes: &[OpId]) {
        let mut before = self.rf[load.index()];
        if before == Source::UNWRITTEN {
            return;
        }
        for &op in writes {
            match self.kind(op) {
                OpKind::Store if self.rf[op.index()] == Source::NONE => self.rf[op.index()] = before,
                // It read what another thread wrote in between.
                _ if self.rf[op.index()] != before => {
                    self.unreserved.get_or_insert(writes[writes.len() - 1]);
                }
                _ => {}
            }
            before = Source::op(op);
        }
    }

    fn name_of(&self, addr: AddrId) -> AddrName {
        self.addr_names()[addr.index()].clone()
    }

    fn group_threads(&mut self) {
        let n = self.kind.len();
        let threads = self.threads();
        self.thread_start.clear();
        self.thread_start.resize(threads + 1, 0);
        self.po.clear();
        self.po.reserve(n);
        for &t in &self.thread {
            let count = &mut self.thread_start[t.index() + 1];
            self.po.push(*count);
            *count += 1;
        }
        for t in 0..threads {
            self.thread_start[t + 1] += self.thread_start[t];
        }
        self.thread_ops.clear();
        self.thread_ops.resize(n, OpId(0));
        for i in 0..n {
            self.thread_ops[(self.thread_start[self.thread[i].index()] + self.po[i]) as usize] = OpId(i as u32);
        }
    }

    fn read_lines(&mut self) -> Result<(), Malformed> {
        self.initial.clear();
        self.initial.resize(self.addrs(), 0);
        for init in &self.inits {
            self.initial[init.addr.index()] = init.value;
        }
        self.no_repeats("init", self.inits.iter().map(|init| (init.addr, init.line)))?;
        self.no_repeats("final", self.finals.iter().map(|end| (end.addr, end.line)))?;
        self.no_repeats("order", self.orders.iter().map(|order| (order.addr, order.line)))?;
        self.no_repeats("guard", self.guards.iter().map(|guard| (guard.lock, guard.line)))
    }

    /// Refuses a second line about one address.
    fn no_repeats(
        &self,
        what: &'static str,
        lines: impl ExactSizeIterator<Item = (AddrId, u64)>,
    ) -> Result<(), Malformed> {
        if lines.len() < 2 {
            return Ok(());
        }
        let mut first = vec![None; self.addrs()];
        for (addr, line) in lines {
            if let Some(other) = first[addr.index()].replace(line) {
                return Err(Malformed::Repeated { what, addr: self.name_of(addr), line, other });
            }
        }
        Ok(())
    }

    fn index_writes<'a>(&self, scratch: &'a mut ResolveScratch) -> Result<Writes<'a>, Malformed> {
        let n = self.kind.len();
        let is_write = |i: usize| matches!(self.kind[i], OpKind::Store | OpKind::Rmw);
        let (mut count, mut largest) = (0usize, 0u64);
        for i in (0..n).filter(|&i| is_write(i)) {
            count += 1;
            largest = largest.max(self.write[i]);
            let addr = self.addr[i];
            if self.write[i] == self.initial[addr.index()] && self.left_out.is_none() {
                return Err(Malformed::WritesInitial {
                    addr: self.name_of(addr),
                    value: self.write[i],
                    line: self.line(OpId(i as u32)),
                    init: self.inits.iter().find(|init| init.addr == addr).map(|init| init.line),
                });
            }
        }
        if largest <= 4 * n as u64 + 64 {
            let table = &mut scratch.by_value;
            table.clear();
            table.resize(largest as usize + 1, EMPTY);
            let mut unique = true;
            for i in (0..n).filter(|&i| is_write(i)) {
                let entry = &mut table[self.write[i] as usize];
                if *entry != EMPTY {
                    unique = false;
                    break;
                }
                *entry = i as u32;
            }
            if unique {
                return Ok(Writes::ByValue(&scratch.by_value));
            }
        }
        let size = (2 * count + 1).next_power_of_two();
        let table = &mut scratch.table;
        table.clear();
        table.resize(size, EMPTY);
        for i in (0..n).filter(|&i| is_write(i)) {
            let (addr, value) = (self.addr[i], self.write[i]);
            let mut at = slot(addr, value, size - 1);
            loop {
                let other = table[at];
                if other == EMPTY {
                    table[at] = i as u32;
                    break;
                }
                if self.write[other as usize] == value && self.addr[other as usize] == addr {
                    if self.left_out.is_some() {
                        break; // nobody reads it
                    }
                    return Err(Malformed::WrittenTwice {
                        addr: self.name_of(addr),
                        value,
                        line: self.line(OpId(i as u32)),
                        other: self.line(OpId(other)),
                    });
                }
                at = (at + 1) & (size - 1);
            }
        }
        Ok(Writes::Hashed { table: &scratch.table, mask: size - 1 })
    }

    fn find_sources(&mut self, writes: &Writes<'_>) {
        let source = |trace: &Trace, addr: AddrId, value: u64| {
            if value == trace.initial[addr.index()] {
                Source::INIT
            } else {
                writes.find(trace, addr, value).map_or(Source::UNWRITTEN, Source::op)
            }
        };
        let mut rf = std::mem::take(&mut self.rf);
        rf.clear();
        rf.extend((0..self.kind.len()).map(|i| match self.kind[i] {
            OpKind::Load | OpKind::Rmw => source(self, self.addr[i], self.read[i]),
            _ => Source::NONE,
        }));
        self.rf = rf;
        self.final_sources.clear();
        for i in 0..self.finals.len() {
            let end = self.finals[i];
            let from = source(self, end.addr, end.value);
            self.final_sources.push(from);
        }
    }

    fn find_orders(&mut self, writes: &Writes<'_>) -> Result<(), Malformed> {
        self.order_ops.clear();
        if self.orders.is_empty() {
            return Ok(());
        }
        let mut listed = vec![false; self.kind.len()];
        let mut line_of = vec![None; self.addrs()];
        for order in &self.orders {
            let addr = self.name_of(order.addr);
            line_of[order.addr.index()] = Some(order.line);
            let mut ops = Vec::with_capacity(order.values.len());
            for &value in &order.values {
                let Some(op) = writes.find(self, order.addr, value) else {
                    return Err(Malformed::OrderUnwritten { addr, value, line: order.line });
                };
                if std::mem::replace(&mut listed[op.index()], true) {
                    return Err(Malformed::OrderTwice { addr, value, line: order.line });
                }
                ops.push(op);
            }
            self.order_ops.push(ops);
        }
        for op in self.ops() {
            let writes = matches!(self.kind(op), OpKind::Store | OpKind::Rmw);
            if writes
                && !listed[op.index()]
                && let Some(line) = line_of[self.addr(op).index()]
            {
                return Err(Malformed::OrderMisses {
                    addr: self.name_of(self.addr(op)),
                    value: self.write(op),
                    line,
                    other: self.line(op),
                });
            }
        }
        Ok(())
    }

    #[cold]
    fn unheld(&self, release: OpId) -> Malformed {
        let lock = self.addr(release);
        let on_lock = |&op: &OpId| op < release && self.addr(op) == lock;
        let own = |op: &OpId| self.thread(*op) == self.thread(release);
        let other = self.ops().filter(on_lock).filter(own).last().or_else(|| self.ops().filter(on_lock).last());
        Malformed::ReleaseUnheld {
            lock: self.name_of(lock),
            line: self.line(release),
            other: other.map(|op| self.line(op)),
        }
    }

    pub(crate) fn pair_locks(&mut self, holder: &mut rustc_hash::FxHashMap<(u32, u32), OpId>) -> Result<(), Malformed> {
        self.partner.clear();
        if !self.kind.iter().any(|kind| kind.locks()) {
            return Ok(());
        }
        self.partner.resize(self.kind.len(), OpId(0));
        holder.clear();
        for i in 0..self.kind.len() {
            let op = OpId(i as u32);
            let key = (self.thread[i].0, self.addr[i].0);
            match self.kind[i] {
                OpKind::Acquire => {
                    if let Some(first) = holder.insert(key, op) {
                        let lock = self.name_of(self.addr[i]);
                        return Err(Malformed::AcquireHeld { lock, line: self.line(op), other: self.line(first) });
                    }
                }
                OpKind::Release => {
                    let Some(acquire) = holder.remove(&key) else {
                        return Err(self.unheld(op));
                    };
                    self.rf[i] = Source::op(acquire);
                    self.partner[i] = acquire;
                    self.partner[acquire.index()] = op;
                }
                _ => {}
            }
        }
        match holder.values().min() {
            Some(&open) => Err(Malformed::HeldAtEnd {
                lock: self.name_of(self.addr(open)),
                line: self.line(open),
                end: self.end_line(),
            }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(build: impl FnOnce(&mut Trace)) -> Result<Trace, Malformed> {
        let mut trace = Trace::new();
        trace.clear(1);
        build(&mut trace);
        trace.resolve(&mut ResolveScratch::default()).map(|()| trace)
    }

    #[test]
    fn sources_by_value_and_by_hash_agree() {
        for large in [0, 1 << 40] {
            let trace = resolve(|t| {
                let (a, b) = (t.thread_id(7), t.thread_id(9));
                let (x, y) = (t.memory_id(0), t.named_id("y"));
                t.push_store(a, x, 1 + large, 1);
                t.push_store(b, y, 1 + large, 2);
                t.push_load(b, x, 1 + large, 3);
                t.push_load(a, y, 0, 4);
                t.push_load(a, y, 5, 5);
            })
            .unwrap();
            assert_eq!(trace.source(OpId(2)), Source::op(OpId(0)));
            assert_eq!(trace.source(OpId(3)), Source::INIT);
            assert_eq!(trace.source(OpId(4)), Source::UNWRITTEN);
            assert_eq!(trace.thread_ops(crate::ThreadId(1)), [OpId(1), OpId(2)]);
        }
    }

    #[test]
    fn faults_name_both_lines() {
        let twice = resolve(|t| {
            let (a, x) = (t.thread_id(0), t.memory_id(0));
            t.push_store(a, x, 3, 1);
            t.push_store(a, x, 3, 2);
        });
        assert!(matches!(twice, Err(Malformed::WrittenTwice { value: 3, line: 2, other: 1, .. })));
        let initial = resolve(|t| {
            let (a, x) = (t.thread_id(0), t.memory_id(0));
            t.push_store(a, x, 0, 1);
        });
        assert!(matches!(initial, Err(Malformed::WritesInitial { line: 1, init: None, .. })));
        let order = resolve(|t| {
            let (a, x) = (t.thread_id(0), t.memory_id(0));
            t.push_store(a, x, 1, 1);
            t.push_store(a, x, 2, 2);
            t.orders.push(crate::OrderLine { addr: x, values: vec![2], line: 3 });
        });
        assert!(matches!(order, Err(Malformed::OrderMisses { value: 1, line: 3, other: 1, .. })));
    }

    #[test]
    fn locks_pair_per_thread() {
        let pairs = |release: bool| {
            resolve(|t| {
                let (a, b, l, x) = (t.thread_id(0), t.thread_id(1), t.lock_id("L"), t.named_id("x"));
                t.push_acquire(a, l, 1);
                t.push_acquire(b, l, 2);
                t.push_load(a, x, 0, 3);
                t.push_release(a, l, 4);
                if release {
                    t.push_release(b, l, 5);
                }
            })
        };
        let trace = pairs(true).unwrap();
        assert_eq!(trace.source(OpId(3)), Source::op(OpId(0)));
        assert_eq!((trace.partner(OpId(0)), trace.partner(OpId(4))), (Some(OpId(3)), Some(OpId(1))));
        assert!(trace.in_session(OpId(3), OpId(2)) && !trace.in_session(OpId(1), OpId(2)));
        assert!(matches!(pairs(false), Err(Malformed::HeldAtEnd { line: 2, end: 4, .. })));
    }
}
