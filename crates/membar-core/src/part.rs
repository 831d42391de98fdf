//! Parts of words: accesses of different sizes to one location.
//!
//! Problem: an access, of 1 to 16 bytes, reads or writes some bytes of a location, at one point of memory order; another one reads or writes some of
//! these bytes and some others. Load value, coherence, atomicity and the rules that speak of one address hold for each byte. Everything
//! that decides or certifies a trace wants one address per operation.
//!
//! Algorithm: `x` is 8 bytes of location `x`, `x+2:4` the 4 bytes from byte 2 on; the first byte is the lowest of the value (little
//! endian). Each (location, offset, width) is an address ([`AddrName::Part`]). Where two of them overlap, the trace is *mixed*, and
//! is decided in another form ([`Trace::for_model`]):
//! 1. Cut each location into *cells*: the longest ranges of bytes that no access splits, of 8 bytes at most. So a trace with an access
//!    of more than 8 bytes is always mixed.
//! 2. An access becomes one operation for each of its cells, its *pieces*, which stand together in their thread and on one line. They
//!    are one *group* ([`Trace::group`]): one point of memory order.
//!    An access that may be torn says into what ([`Trace::set_pieces`]): then each of those pieces is a group of its own, and what
//!    depends on the access depends on each. They are in the order of the text, which no machine promises:
//!    [`Trace::torn_apart`] finds pairs whose order means nothing.
//! 3. What depends on an access depends on its first piece; each piece has the access's dependencies.
//!
//! Invariants: the pieces of a group have different addresses and are neighbours in the order of the text.
//!
//! Guarantees: a memory order of the pieces in which groups are neighbours is one of the accesses, and conversely: each rule that
//! speaks of bytes speaks of cells, since all bytes of a cell are read and written together.
//!
//! Columns hold values of 8 bytes. What an access of more has in its higher bytes stands beside them ([`Trace::set_high`]); no cell needs it.
//!
//! Complexity: O(n) and the number of pieces.

use crate::{
    AddrId, AddrName, Depends, Final, Guard, Init, Malformed, Marks, Model, Op, OpId, OpKind, ResolveScratch, Trace,
};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Some bytes of a location.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Part {
    /// The location: a memory or named address.
    pub of: AddrName,
    /// The first byte.
    pub offset: u32,
    /// How many bytes.
    pub width: u8,
}

/// The bytes of a whole word.
pub const WORD: u8 = 8;

/// The bytes of the largest access.
pub const WIDEST: u8 = 16;

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.of)?;
        if self.offset != 0 {
            write!(f, "+{}", self.offset)?;
        }
        write!(f, ":{}", self.width)
    }
}

/// The largest value of this many bytes.
pub fn largest(width: u8) -> u128 {
    if width >= WIDEST { u128::MAX } else { (1 << (8 * width)) - 1 }
}

/// A range of bytes, from the first to the one behind the last.
type Bytes = (u64, u64);

impl AddrName {
    /// The location and the bytes of it; locks have none.
    pub fn bytes(&self) -> Option<(&AddrName, Bytes)> {
        match self {
            AddrName::Lock(_) => None,
            AddrName::Part(part) => {
                let first = u64::from(part.offset);
                Some((&part.of, (first, first + u64::from(part.width))))
            }
            whole => Some((whole, (0, u64::from(WORD)))),
        }
    }

    /// These bytes of a location.
    fn at(of: &AddrName, (first, end): Bytes) -> AddrName {
        if (first, end) == (0, u64::from(WORD)) {
            return of.clone();
        }
        AddrName::Part(Box::new(Part { of: of.clone(), offset: first as u32, width: (end - first) as u8 }))
    }
}

/// The cells of each address of a mixed trace.
struct Cells {
    of: Vec<Vec<Bytes>>,
}

impl Cells {
    /// Cuts the locations of a trace; `None` where no two addresses overlap, and nothing is torn.
    fn cut(trace: &Trace) -> Option<Cells> {
        let names = trace.addr_names();
        let mut cuts: FxHashMap<&AddrName, Vec<u64>> = FxHashMap::default();
        for (of, (first, end)) in names.iter().filter_map(AddrName::bytes) {
            let inside = (first..end).step_by(usize::from(WORD));
            cuts.entry(of).or_default().extend(inside.chain([end]));
        }
        for (&op, pieces) in &trace.pieces {
            let Some((of, (first, _))) = names[trace.addr(op).index()].bytes() else { continue };
            cuts.entry(of).or_default().extend(ranges(first, pieces).map(|(_, end)| end));
        }
        for cuts in cuts.values_mut() {
            cuts.sort_unstable();
            cuts.dedup();
        }
        let cells = |name: &AddrName| {
            let Some((of, (first, end))) = name.bytes() else { return Vec::new() };
            let cuts = &cuts[of];
            let from = cuts.partition_point(|&cut| cut < first);
            let to = cuts.partition_point(|&cut| cut < end);
            cuts[from..=to].windows(2).map(|pair| (pair[0], pair[1])).collect()
        };
        let of: Vec<Vec<Bytes>> = names.iter().map(cells).collect();
        of.iter().any(|cells| cells.len() > 1).then_some(Cells { of })
    }
}

/// Ranges of these widths, one after the other.
fn ranges(first: u64, widths: &[u8]) -> impl Iterator<Item = Bytes> + '_ {
    widths.iter().scan(first, |at, &width| {
        let from = *at;
        *at += u64::from(width);
        Some((from, *at))
    })
}

/// The bytes of a cell, out of the value of an access that begins at byte `first`.
fn slice(value: u128, first: u64, cell: Bytes) -> u64 {
    (value >> (8 * (cell.0 - first)) & largest((cell.1 - cell.0) as u8)) as u64
}

impl Trace {
    /// The id of some bytes of a location.
    pub fn part_id(&mut self, of: &AddrName, offset: u32, width: u8) -> AddrId {
        let name = AddrName::at(of, (u64::from(offset), u64::from(offset) + u64::from(width)));
        let AddrName::Part(part) = &name else { return self.addr_id(of) };
        if let Some(&id) = self.part_map.get(&**part) {
            return id;
        }
        let fresh = AddrId(self.addr_names.len() as u32);
        self.part_map.insert((**part).clone(), fresh);
        self.addr_names.push(name);
        fresh
    }

    /// Says that the machine may have performed a load or a store in pieces of these widths, each at a point of its own.
    pub fn set_pieces(&mut self, op: OpId, widths: &[u8]) {
        self.pieces.insert(op, widths.into());
    }

    /// The pieces into which an access may be torn.
    pub fn pieces(&self, op: OpId) -> &[u8] {
        self.pieces.get(&op).map_or(&[], |widths| widths)
    }

    /// Has it, in the form of [`Trace::for_model`], pieces of accesses that were torn?
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    /// Are these, in the form of [`Trace::for_model`], pieces of one access that was torn?
    pub fn torn_apart(&self, a: OpId, b: OpId) -> bool {
        let half = |op: OpId| self.marks(op).meets(Marks::HALF);
        self.recorded(a) == self.recorded(b) && self.group(a) != self.group(b) && !half(a) && !half(b)
    }

    /// Sets the higher bytes of what an access of more than 8 bytes read and wrote.
    pub fn set_high(&mut self, op: OpId, read: u64, write: u64) {
        self.high.insert(op, [read, write]);
    }

    /// All bytes of the value read.
    pub fn whole_read(&self, op: OpId) -> u128 {
        self.whole(op, self.read(op), 0)
    }

    /// All bytes of the value written.
    pub fn whole_write(&self, op: OpId) -> u128 {
        self.whole(op, self.write(op), 1)
    }

    fn whole(&self, op: OpId, low: u64, which: usize) -> u128 {
        u128::from(low) | self.high.get(&op).map_or(0, |high| u128::from(high[which]) << 64)
    }

    /// Adds an `init` line, or one for each 8 bytes.
    pub fn push_init(&mut self, addr: &AddrName, value: u128, line: u64) {
        for (addr, value) in words(addr, value) {
            let addr = self.addr_id(&addr);
            self.inits.push(Init { addr, value, line });
        }
    }

    /// Adds a `final` line, or one for each 8 bytes.
    pub fn push_final(&mut self, addr: &AddrName, value: u128, line: u64) {
        for (addr, value) in words(addr, value) {
            let addr = self.addr_id(&addr);
            self.finals.push(Final { addr, value, line });
        }
    }

    /// Do accesses overlap without being to the same bytes, or has one more than 8 bytes? Then [`Trace::source`] says nothing, and the trace is decided in the
    /// form of [`Trace::for_model`] only.
    pub fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// Are there accesses of several pieces?
    #[inline]
    pub fn is_grouped(&self) -> bool {
        !self.group.is_empty()
    }

    /// The first piece of the access that an operation is a piece of; mostly itself.
    #[inline]
    pub fn group(&self, op: OpId) -> OpId {
        self.group.get(op.index()).copied().unwrap_or(op)
    }

    /// The operation of the trace as recorded that this one, in the form of [`Trace::for_model`], stands for.
    pub fn recorded(&self, op: OpId) -> OpId {
        self.origin.get(op.index()).copied().unwrap_or(op)
    }

    /// How many operations of the trace as recorded these, in the order of the text, stand for.
    pub fn count_recorded(&self, ops: impl IntoIterator<Item = OpId>) -> usize {
        let mut last = None;
        ops.into_iter().filter(|&op| last.replace(self.recorded(op)) != Some(self.recorded(op))).count()
    }

    /// Prepares a trace with accesses that overlap, if this is one. Its sources are not looked for.
    pub(crate) fn resolve_mixed(&mut self, scratch: &mut ResolveScratch) -> Result<bool, Malformed> {
        self.mixed = false;
        if self.part_map.is_empty() && self.pieces.is_empty() {
            return Ok(false);
        }
        let Some(cells) = Cells::cut(self) else { return Ok(false) };
        if let Some(order) = self.orders.iter().find(|order| cells.overlaps(&self.addr_names, order.addr)) {
            let addr = self.addr_names[order.addr.index()].clone();
            return Err(Malformed::OrderOfParts { addr, line: order.line });
        }
        self.no_overlap("init", &cells, self.inits.iter().map(|init| (init.addr, init.line)))?;
        self.no_overlap("final", &cells, self.finals.iter().map(|end| (end.addr, end.line)))?;
        self.mixed = true;
        self.resolve_without_sources(scratch)?;
        Ok(true)
    }

    /// Refuses a second line about one byte.
    fn no_overlap(
        &self,
        what: &'static str,
        cells: &Cells,
        lines: impl Iterator<Item = (AddrId, u64)>,
    ) -> Result<(), Malformed> {
        let mut first: FxHashMap<(&AddrName, Bytes), u64> = FxHashMap::default();
        for (addr, line) in lines {
            let name = &self.addr_names[addr.index()];
            let Some((of, _)) = name.bytes() else { continue };
            for &cell in &cells.of[addr.index()] {
                if let Some(other) = first.insert((of, cell), line) {
                    return Err(Malformed::Repeated { what, addr: name.clone(), line, other });
                }
            }
        }
        Ok(())
    }

    /// The trace in the form in which the model decides it.
    ///
    /// Where atomics are split, each read-modify-write is a load reserved
    /// and a store conditional on one line. An acquire is the load's, a release the store's; the store of an atomic with both
    /// keeps both marks. Addresses and branches are those of both halves, a value's dependency is the store's, and what depends on
    /// the atomic depends on the load. No other store acquires: `aq` on one says nothing there.
    ///
    /// Where accesses overlap, each becomes its pieces: see the module.
    pub fn for_model(&self, model: &Model) -> Cow<'_, Trace> {
        let split = model.split_atomics && self.kind.contains(&OpKind::Rmw);
        let store_acquires = |op| self.kind(op) == OpKind::Store && self.marks(op).meets(Marks::ACQUIRES);
        let stores_acquire = model.split_atomics && self.origin.is_empty() && self.ops().any(store_acquires);
        if !split && !stores_acquire && !self.mixed {
            return Cow::Borrowed(self);
        }
        let cells = if self.mixed { Cells::cut(self) } else { None };
        let mut new = self.restricted_to(&[], |_| false, |_| false);
        let mut pieces = Pieces { of: self, cells, ids: FxHashMap::default() };
        // Per operation its place in its thread; of torn ones that of each piece but the first.
        let mut place = vec![0u32; self.len()];
        let mut more: FxHashMap<OpId, Vec<u32>> = FxHashMap::default();
        let mut next = vec![0u32; self.threads()];
        for id in self.ops() {
            let mut op = self.op(id);
            let at = &mut next[self.thread(id).index()];
            place[id.index()] = *at;
            op.thread = new.thread_id(self.thread_names()[op.thread.index()]);
            if stores_acquire && op.kind == OpKind::Store {
                op.marks = op.marks.without(Marks::ACQUIRES);
            }
            let halves = if split && op.kind == OpKind::Rmw { halves(op) } else { [Some(op), None] };
            for half in halves.into_iter().flatten() {
                let addr = op.addr;
                let (mut first, mut count) = (OpId(new.len() as u32), 0);
                let of = self.addr_names().get(addr.index()).and_then(AddrName::bytes);
                let mut torn = ranges(of.map_or(0, |(_, (first, _))| first), self.pieces(id)).skip(1).peekable();
                pieces.each(&mut new, addr, |new, id_of, cell| {
                    if cell.is_some_and(|(_, cell)| torn.next_if(|piece| piece.0 == cell.0).is_some()) {
                        new.set_group(first, count);
                        (first, count) = (OpId(new.len() as u32), 0);
                        more.entry(id).or_default().push(*at);
                    }
                    let cut = |low, all| cell.map_or(low, |(first, cell)| slice(all, first, cell));
                    let read = cut(half.read, if half.kind.reads() { self.whole_read(id) } else { 0 });
                    let write = cut(half.write, if half.kind.writes() { self.whole_write(id) } else { 0 });
                    let piece = Op { addr: id_of, read, write, ..half };
                    new.push(piece);
                    for dep in self.dependencies(id) {
                        if dep.how != Depends::Data || half.kind != OpKind::Load {
                            let others = more.get(&dep.on).into_iter().flatten();
                            for on in others.chain([&place[dep.on.index()]]) {
                                new.push_dependency(dep.how, *at - on);
                            }
                        }
                    }
                    *at += 1;
                    count += 1;
                });
                new.origin.resize(new.len(), id);
                new.set_group(first, count);
            }
        }
        new.torn = !more.is_empty();
        self.lines_for(&mut new, &mut pieces);
        new.set_end_line(self.end_line());
        if self.open_end() {
            new.set_open_end();
        }
        let resolved = match new.resolve(&mut ResolveScratch::default()) {
            Err(fault) if self.is_open() || self.mixed => new.resolve_open(fault),
            resolved => resolved,
        };
        debug_assert!(resolved.is_ok(), "values, locks and pairs are as before: {resolved:?}");
        Cow::Owned(new)
    }

    /// Copies what is said about addresses.
    fn lines_for(&self, new: &mut Trace, pieces: &mut Pieces<'_>) {
        for end in &self.finals {
            pieces.each(new, end.addr, |new, addr, cell| {
                let value = cell.map_or(end.value, |(first, cell)| slice(end.value.into(), first, cell));
                new.finals.push(Final { addr, value, line: end.line });
            });
        }
        for init in &self.inits {
            pieces.each(new, init.addr, |new, addr, cell| {
                let value = cell.map_or(init.value, |(first, cell)| slice(init.value.into(), first, cell));
                new.inits.push(Init { addr, value, line: init.line });
            });
        }
        for order in &self.orders {
            pieces.each(new, order.addr, |new, addr, _| {
                new.orders.push(crate::OrderLine { addr, ..order.clone() });
            });
        }
        for guard in &self.guards {
            let mut addrs = Vec::new();
            for &addr in &guard.addrs {
                pieces.each(new, addr, |_, addr, _| addrs.push(addr));
            }
            pieces.each(new, guard.lock, |new, lock, _| {
                new.guards.push(Guard { lock, addrs: std::mem::take(&mut addrs), line: guard.line });
            });
        }
    }

    /// Gives a part, made of these operations, their groups and origins.
    pub(crate) fn restrict_groups(&self, ops: &[OpId], part: &mut Trace) {
        if !self.origin.is_empty() {
            part.origin.extend(ops.iter().map(|&op| self.recorded(op)));
        }
        if self.group.is_empty() {
            return;
        }
        let mut leader: Option<(OpId, OpId)> = None;
        for (i, &op) in (0..).map(OpId).zip(ops) {
            let group = self.group(op);
            if leader.is_none_or(|(old, _)| old != group) {
                leader = Some((group, i));
            }
            part.group.extend(leader.map(|(_, first)| first));
        }
    }

    /// Makes one group of this many operations, the last ones pushed.
    fn set_group(&mut self, first: OpId, count: u32) {
        if count < 2 {
            return;
        }
        for op in self.group.len() as u32..first.0 {
            self.group.push(OpId(op));
        }
        self.group.extend((0..count).map(|_| first));
    }
}

impl Cells {
    /// Does an address share a byte with another one?
    fn overlaps(&self, names: &[AddrName], addr: AddrId) -> bool {
        let mine = |i: usize| names[i].bytes().map(|(of, _)| (of, &self.of[i]));
        let Some((of, cells)) = mine(addr.index()) else { return false };
        (0..names.len())
            .filter(|&i| i != addr.index())
            .filter_map(mine)
            .any(|(other, theirs)| other == of && cells.iter().any(|cell| theirs.contains(cell)))
    }
}

/// Addresses of a trace as those of its form for a model.
struct Pieces<'a> {
    of: &'a Trace,
    cells: Option<Cells>,
    ids: FxHashMap<AddrId, Vec<AddrId>>,
}

impl Pieces<'_> {
    /// Calls `f` for each piece of an address, with its cell and the first byte of the whole, if it is cut.
    fn each(&mut self, new: &mut Trace, addr: AddrId, mut f: impl FnMut(&mut Trace, AddrId, Option<(u64, Bytes)>)) {
        if addr == AddrId::NONE {
            return f(new, addr, None);
        }
        let name = &self.of.addr_names()[addr.index()];
        let cells = self.cells.as_ref().map_or(&[][..], |cells| &cells.of[addr.index()]);
        let ids = self.ids.entry(addr).or_insert_with(|| match name.bytes() {
            Some((of, _)) if !cells.is_empty() => {
                cells.iter().map(|&cell| new.addr_id(&AddrName::at(of, cell))).collect()
            }
            _ => vec![new.addr_id(name)],
        });
        let first = name.bytes().map_or(0, |(_, (first, _))| first);
        for (i, &id) in ids.iter().enumerate() {
            f(new, id, cells.get(i).map(|&cell| (first, cell)));
        }
    }
}

/// What a line says about some bytes, for each 8 of them.
fn words(addr: &AddrName, value: u128) -> Vec<(AddrName, u64)> {
    let Some((of, (first, end))) = addr.bytes() else { return vec![(addr.clone(), value as u64)] };
    let word = |from: u64| {
        let bytes = (from, end.min(from + u64::from(WORD)));
        (AddrName::at(of, bytes), slice(value, first, bytes))
    };
    (first..end).step_by(usize::from(WORD)).map(word).collect()
}

/// A read-modify-write as a load reserved and a store conditional.
fn halves(op: Op) -> [Option<Op>; 2] {
    let both = op.marks.meets(Marks::ACQUIRE) && op.marks.meets(Marks::RELEASE);
    let given = |mark: Marks| if op.marks.meets(mark) { mark } else { Marks::NONE };
    let load = Marks::RESERVES.with(Marks::HALF).with(given(Marks::ACQUIRE)).with(given(Marks::ACQUIRE_PC));
    let store = Marks::CONDITIONAL.with(Marks::HALF).with(given(Marks::RELEASE));
    let store = if both { store.with(Marks::ACQUIRE) } else { store };
    [
        Some(Op { kind: OpKind::Load, write: 0, marks: load, ..op }),
        Some(Op { kind: OpKind::Store, read: 0, marks: store, ..op }),
    ]
}
