//! Traces in which values do not say which write a read returned.
//!
//! Problem: where an address was given a value twice, a read of it has several possible sources, and which one it returned is part
//! of what has to be found. Everything that decides or certifies a trace wants one source per read.
//!
//! Algorithm: a trace is *open* if an address was given a value twice, the initial value included.
//! A *reading* of it says for some of those reads which source they returned ([`Trace::reading`]); it is a trace in which
//! every write has a value of its own and every read that the reading speaks of, or that has one source only, has its source's value.
//! Other reads say nothing: a load becomes a barrier that orders nothing, a read-modify-write a store, a store conditional whose
//! load reserved became such a barrier a store.
//!
//! Invariants: a reading has the operations of the trace, in their places, with their addresses, marks, periods and dependencies.
//!
//! Guarantees: a memory order that explains the trace, with sources as the reading has them, explains the reading too: what was left out
//! only asked for more. So if no memory order explains the reading, none explains the trace with these sources. If the reading
//! leaves nothing open, the converse holds too.
//!
//! Complexity: O(n) expected.

use crate::{AddrId, Malformed, Marks, OpId, OpKind, ResolveScratch, Source, Trace};
use rustc_hash::FxHashMap;

/// Something that returned a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Read {
    /// A load or a read-modify-write.
    Op(OpId),
    /// The recorded final value with this index among [`Trace::finals`].
    Final(u32),
}

/// The writes of an open trace, by address and value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    /// Where the writes of an address and a value are in `writes`.
    range: FxHashMap<(AddrId, u64), (u32, u32)>,
    /// Grouped, in the order of the text.
    writes: Vec<OpId>,
}

/// Written by nobody, in a reading: larger than the number of any operation.
const NOBODY: u64 = u64::MAX;

impl Trace {
    /// Was an address given a value twice? Then values do not say where reads came from, and [`Trace::source`] says nothing.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Prepares a trace with repeated values. The fault says which; it remains one where an `order` line needs values that are not
    /// repeated.
    pub(crate) fn resolve_open(&mut self, fault: Malformed) -> Result<(), Malformed> {
        let mut count: FxHashMap<(AddrId, u64), (u32, u32)> = FxHashMap::default();
        for i in (0..self.kind.len()).filter(|&i| matches!(self.kind[i], OpKind::Store | OpKind::Rmw)) {
            count.entry((self.addr[i], self.write[i])).or_default().1 += 1;
        }
        let repeated = |addr: AddrId| {
            count.iter().any(|(key, &(_, n))| key.0 == addr && n + u32::from(key.1 == self.initial[addr.index()]) > 1)
        };
        if self.orders.iter().any(|order| repeated(order.addr)) {
            return Err(fault);
        }
        let mut next = 0;
        for (start, n) in count.values_mut() {
            *start = next;
            next += std::mem::take(n);
        }
        let mut writes = vec![OpId(0); next as usize];
        for i in (0..self.kind.len()).filter(|&i| matches!(self.kind[i], OpKind::Store | OpKind::Rmw)) {
            let (start, n) = count.get_mut(&(self.addr[i], self.write[i])).expect("counted");
            writes[(*start + *n) as usize] = OpId(i as u32);
            *n += 1;
        }
        self.open = Some(Box::new(Open { range: count, writes }));
        self.resolve_without_sources(&mut ResolveScratch::default())
    }

    /// The address and the value of a read.
    pub fn returned(&self, read: Read) -> (AddrId, u64) {
        match read {
            Read::Op(op) => (self.addr(op), self.read(op)),
            Read::Final(i) => (self.finals[i as usize].addr, self.finals[i as usize].value),
        }
    }

    /// The sources that a read of an open trace can have, by address and value: the initial value first. A read-modify-write does not
    /// return what it writes itself.
    pub fn candidates(&self, read: Read) -> impl Iterator<Item = Source> + '_ {
        let (addr, value) = self.returned(read);
        let initial = (self.initial[addr.index()] == value).then_some(Source::INIT);
        let writes = self.open.as_ref().map_or(&[][..], |open| {
            let (start, n) = open.range.get(&(addr, value)).copied().unwrap_or_default();
            &open.writes[start as usize..(start + n) as usize]
        });
        initial.into_iter().chain(writes.iter().filter(move |&&op| read != Read::Op(op)).map(|&op| Source::op(op)))
    }

    /// The reading of an open trace that has these sources, and those of reads that have one possible source only.
    pub fn reading(&self, known: impl Fn(Read) -> Option<Source>) -> Trace {
        let source = |read: Read| {
            known(read).or_else(|| {
                let mut candidates = self.candidates(read);
                let first = candidates.next().unwrap_or(Source::UNWRITTEN);
                candidates.next().is_none().then_some(first)
            })
        };
        let value = |source: Source| match source {
            Source::INIT => 0,
            source => source.as_op().map_or(NOBODY, |op| u64::from(op.0) + 1),
        };
        let mut new = self.clone();
        new.open = None;
        new.inits.clear();
        if new.marks.is_empty() {
            new.marks.resize(self.len(), Marks::NONE);
        }
        for op in self.ops() {
            let (i, kind) = (op.index(), self.kind(op));
            if matches!(kind, OpKind::Store | OpKind::Rmw) {
                new.write[i] = u64::from(op.0) + 1;
            }
            if !kind.reads() {
                continue;
            }
            match source(Read::Op(op)) {
                Some(source) => new.read[i] = value(source),
                None if kind == OpKind::Rmw => {
                    new.kind[i] = OpKind::Store;
                    new.read[i] = 0;
                    new.marks[i] = new.marks[i].with(Marks::UNKNOWN);
                }
                None => {
                    new.kind[i] = OpKind::Fence;
                    new.read[i] = 0;
                    new.marks[i] = Marks::UNKNOWN;
                    let pairs = if self.marks(op).meets(Marks::RESERVES) { &self.reservations[..] } else { &[] };
                    for &(store, _) in pairs.iter().filter(|&&(_, load)| load == op) {
                        new.marks[store.index()] = new.marks[store.index()].without_pair().with(Marks::UNKNOWN);
                    }
                }
            }
        }
        let ends = self.finals.iter().enumerate();
        let ends = ends.filter_map(|(i, end)| {
            source(Read::Final(i as u32)).map(|source| crate::Final { value: value(source), ..*end })
        });
        new.finals = ends.collect();
        for order in &mut new.orders {
            let write = |&value: &u64| {
                let (start, _) = self.open.as_ref()?.range.get(&(order.addr, value))?;
                Some(u64::from(self.open.as_ref()?.writes[*start as usize].0) + 1)
            };
            order.values = order.values.iter().map(|value| write(value).unwrap_or(NOBODY)).collect();
        }
        if new.marks.iter().all(|marks| marks.is_empty()) {
            new.marks.clear();
        }
        let resolved = new.resolve(&mut ResolveScratch::default());
        debug_assert!(resolved.is_ok(), "every write has a value of its own: {resolved:?}");
        new
    }

    /// The trace with the sources of a reading and the values that were recorded, to show. Reads of which nothing is known have none.
    pub fn shown_as(&self, known: impl Fn(Read) -> Option<Source>) -> Trace {
        let mut shown = self.reading(known);
        shown.kind.clone_from(&self.kind);
        shown.read.clone_from(&self.read);
        shown.write.clone_from(&self.write);
        shown.marks.clone_from(&self.marks);
        shown.inits.clone_from(&self.inits);
        shown.initial.clone_from(&self.initial);
        let ends = self.finals.iter();
        let sources = ends.map(|end| {
            let kept = shown.finals.iter().position(|other| other.addr == end.addr);
            kept.map_or(Source::NONE, |i| shown.final_sources[i])
        });
        shown.final_sources = sources.collect();
        shown.finals.clone_from(&self.finals);
        shown.orders.clone_from(&self.orders);
        shown
    }
}
