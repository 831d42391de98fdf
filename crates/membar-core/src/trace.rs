//! A recorded execution, in columns.
//!
//! Each property of operations is a vector, by operation in the order of the text; rare ones are empty, or maps, where no operation has them.
//! A trace is filled, then resolved ([`Trace::resolve`]): values become sources of reads, operations are grouped by thread, locks are paired.
//! The buffers stay from one trace to the next, so that reading many allocates nothing. Names of threads and addresses become dense ids.
//!
//! Complexity: O(1) expected to add an operation; O(n) expected to resolve; O(1) for each accessor.

use crate::{AddrId, Clock, Dependency, Kinds, LeftOut, Marks, Mask, OpId, Part, Source, ThreadId};
use rustc_hash::FxHashMap;
use std::fmt;

mod columns;

/// The effect of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum OpKind {
    /// Reads an address.
    Load,
    /// Writes an address.
    Store,
    /// Reads and writes one address at one point of memory order.
    Rmw,
    /// A barrier: `sync` or `membar`.
    Fence,
    /// Takes a lock: writes the lock, over a release of it or its initial state.
    Acquire,
    /// Gives a lock back: a read-modify-write of the lock that reads from its acquire.
    Release,
}

impl OpKind {
    /// Its kinds in preserved program order; a barrier has none.
    #[inline]
    pub fn kinds(self) -> Kinds {
        const KINDS: [Kinds; 6] = [Kinds(1), Kinds(2), Kinds(3), Kinds(0), Kinds(4), Kinds(8)];
        KINDS[self as usize]
    }

    /// Is it an access that returns a value?
    #[inline]
    pub fn reads(self) -> bool {
        matches!(self, OpKind::Load | OpKind::Rmw)
    }

    /// Does it write its address or lock?
    #[inline]
    pub fn writes(self) -> bool {
        !matches!(self, OpKind::Load | OpKind::Fence)
    }

    /// Is it an acquire or a release?
    #[inline]
    pub fn locks(self) -> bool {
        matches!(self, OpKind::Acquire | OpKind::Release)
    }
}

/// The name of an address or of a lock. Locks and addresses never share an id.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub enum AddrName {
    /// `M[n]`
    Memory(u64),
    /// `x`
    Named(Box<str>),
    /// A lock.
    Lock(Box<str>),
    /// Some bytes of an address: `x+2:4`.
    Part(Box<Part>),
}

impl fmt::Display for AddrName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddrName::Memory(n) => write!(f, "M[{n}]"),
            AddrName::Named(name) | AddrName::Lock(name) => f.write_str(name),
            AddrName::Part(part) => part.fmt(f),
        }
    }
}

/// When an operation was pending: from its begin to its end, either of which may not be recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Span {
    /// When it began.
    pub begin: Option<u64>,
    /// When it ended.
    pub end: Option<u64>,
}

impl Span {
    /// Neither end recorded.
    pub const UNKNOWN: Span = Span { begin: None, end: None };

    /// Did this one certainly end before the other began?
    #[inline]
    pub fn before(self, later: Span) -> bool {
        matches!((self.end, later.begin), (Some(end), Some(begin)) if end < begin)
    }
}

/// An `init` line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Init {
    /// Of this address
    pub addr: AddrId,
    /// the initial value.
    pub value: u64,
    /// Line of the text.
    pub line: u64,
}

/// A `final` line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Final {
    /// Of this address
    pub addr: AddrId,
    /// the value after everything.
    pub value: u64,
    /// Line of the text.
    pub line: u64,
}

/// An `order` line: the values written to an address, oldest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OrderLine {
    /// The address.
    pub addr: AddrId,
    /// The values, oldest first.
    pub values: Vec<u64>,
    /// Line of the text.
    pub line: u64,
}

/// A `guard` line: the addresses that a lock guards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The lock.
    pub lock: AddrId,
    /// The addresses it guards.
    pub addrs: Vec<AddrId>,
    /// Line of the text.
    pub line: u64,
}

/// One operation, gathered from the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op {
    /// Its effect.
    pub kind: OpKind,
    /// By which thread.
    pub thread: ThreadId,
    /// To which address or lock ([`AddrId::NONE`] for a barrier).
    pub addr: AddrId,
    /// The value read (loads and read-modify-writes; 0 otherwise).
    pub read: u64,
    /// The value written (stores and read-modify-writes; 0 otherwise).
    pub write: u64,
    /// The pairs that a barrier orders (`None`: it is a `sync`, and the model says).
    pub mask: Option<Mask>,
    /// When it was pending.
    pub span: Span,
    /// Line of the text.
    pub line: u64,
    /// What else the instruction says.
    pub marks: Marks,
}

/// A recorded execution: per thread the operations with their values, in program order.
///
/// Filled by pushing operations in the order of the text, then [`Trace::resolve`]d once, after which every accessor
/// works. [`Trace::clear`] keeps the buffers, so that reading many traces allocates nothing.
///
/// Invariants after `resolve`: a value that is read or listed identifies the write of an address, unless the trace is open
/// ([`Trace::is_open`]): no address has two writes of one value, or a write of its initial value, but for values that nobody reads where
/// [`Trace::left_out`] says so. Each thread's operations are `thread_ops(t)`, in program order; locks are paired.
#[derive(Clone, Default, Debug)]
pub struct Trace {
    pub(crate) kind: Vec<OpKind>,
    pub(crate) thread: Vec<ThreadId>,
    pub(crate) addr: Vec<AddrId>,
    /// Read value; a fence keeps its mask bits here (16: `sync`).
    pub(crate) read: Vec<u64>,
    pub(crate) write: Vec<u64>,
    /// Line, counted from `first_line`.
    pub(crate) line: Vec<u32>,
    /// Empty where no operation has a timestamp.
    pub(crate) spans: Vec<Span>,
    /// Empty where no operation has a mark.
    pub(crate) marks: Vec<Marks>,
    /// By later operation.
    pub(crate) deps: Vec<Dependency>,
    pub(crate) clock: Clock,
    pub(crate) left_out: Option<Box<LeftOut>>,
    pub(crate) open: Option<Box<crate::open::Open>>,
    /// Per operation the first piece of its access; empty where each is its own, and behind the last that is not.
    pub(crate) group: Vec<OpId>,
    /// Per operation the one it stands for in the trace as recorded; empty where it is that itself.
    pub(crate) origin: Vec<OpId>,
    pub(crate) mixed: bool,
    /// The higher bytes of what accesses of more than 8 read and wrote.
    pub(crate) high: FxHashMap<OpId, [u64; 2]>,
    pub(crate) torn: bool,
    /// The pieces into which accesses may be torn.
    pub(crate) pieces: FxHashMap<OpId, Box<[u8]>>,
    open_end: bool,
    first_line: u64,
    end_line: Option<u64>,

    thread_names: Vec<u32>,
    thread_small: Vec<u32>,
    thread_map: FxHashMap<u32, ThreadId>,
    pub(crate) addr_names: Vec<AddrName>,
    addr_small: Vec<u32>,
    memory_map: FxHashMap<u64, AddrId>,
    named_map: FxHashMap<Box<str>, AddrId>,
    lock_map: FxHashMap<Box<str>, AddrId>,
    pub(crate) part_map: FxHashMap<Part, AddrId>,

    /// `init` lines.
    pub inits: Vec<Init>,
    /// `final` lines.
    pub finals: Vec<Final>,
    /// `order` lines.
    pub orders: Vec<OrderLine>,
    /// `guard` lines.
    pub guards: Vec<Guard>,

    // Made by `resolve`.
    pub(crate) rf: Vec<Source>,
    pub(crate) po: Vec<u32>,
    pub(crate) thread_start: Vec<u32>,
    pub(crate) thread_ops: Vec<OpId>,
    pub(crate) initial: Vec<u64>,
    pub(crate) final_sources: Vec<Source>,
    pub(crate) order_ops: Vec<Vec<OpId>>,
    /// The other end of the session of an acquire or a release; empty where there are none.
    pub(crate) partner: Vec<OpId>,
    /// Per operation where its dependencies begin; empty where there are none.
    pub(crate) dep_start: Vec<u32>,
    /// Store conditionals that stored, with their load reserved, by id.
    pub(crate) reservations: Vec<(OpId, OpId)>,
    pub(crate) unreserved: Option<OpId>,
}

/// Names below this are found by index, others by hash.
const SMALL: usize = 1 << 12;
const ABSENT: u32 = u32::MAX;
pub(crate) const SYNC_BITS: u64 = 16;

/// Makes room for an entry in a table of small names. Not for all at once: shrinking makes many traces of a few operations.
fn grow(table: &mut Vec<u32>, name: usize) {
    if name >= table.len() {
        table.resize((name + 1).next_power_of_two(), ABSENT);
    }
}

impl Trace {
    /// An empty trace.
    pub fn new() -> Trace {
        Trace::default()
    }

    /// Forgets everything but the buffers. `first_line` is the line of the text at which the next trace begins.
    pub fn clear(&mut self, first_line: u64) {
        for name in self.thread_names.drain(..) {
            if let Some(slot) = self.thread_small.get_mut(name as usize) {
                *slot = ABSENT;
            }
        }
        for name in self.addr_names.drain(..) {
            if let AddrName::Memory(n) = name
                && let Some(slot) = self.addr_small.get_mut(n as usize)
            {
                *slot = ABSENT;
            }
        }
        self.thread_map.clear();
        self.memory_map.clear();
        self.named_map.clear();
        self.lock_map.clear();
        self.part_map.clear();
        self.group.clear();
        self.origin.clear();
        self.mixed = false;
        self.kind.clear();
        self.thread.clear();
        self.addr.clear();
        self.read.clear();
        self.write.clear();
        self.line.clear();
        self.spans.clear();
        self.marks.clear();
        self.deps.clear();
        self.dep_start.clear();
        self.reservations.clear();
        self.unreserved = None;
        self.clock = Clock::default();
        self.left_out = None;
        self.high.clear();
        self.pieces.clear();
        self.torn = false;
        self.open = None;
        self.open_end = false;
        self.inits.clear();
        self.finals.clear();
        self.orders.clear();
        self.guards.clear();
        self.rf.clear();
        self.first_line = first_line;
        self.end_line = None;
    }

    /// Says at which line of the text the trace ends.
    pub fn set_end_line(&mut self, line: u64) {
        self.end_line = Some(line);
    }

    /// Says that the text ends without the `check` of this trace.
    pub fn set_open_end(&mut self) {
        self.open_end = true;
    }

    /// Did the text end without the `check` of this trace?
    pub fn open_end(&self) -> bool {
        self.open_end
    }

    /// The parts left out of the trace that was recorded, if anything: then this is a part of it, which shows that the whole is
    /// forbidden, and cannot show that it is allowed.
    pub fn left_out(&self) -> Option<&LeftOut> {
        self.left_out.as_deref()
    }

    /// Is there a read, or a recorded final value, that nobody wrote?
    pub fn has_unwritten(&self) -> bool {
        self.rf.contains(&Source::UNWRITTEN) || self.final_sources.contains(&Source::UNWRITTEN)
    }

    /// The line at which the trace ends: the one that was set, or its last operation's.
    pub fn end_line(&self) -> u64 {
        self.end_line.unwrap_or_else(|| self.ops().map(|op| self.line(op)).max().unwrap_or(self.first_line))
    }

    /// The id of the thread with this name.
    #[inline]
    pub fn thread_id(&mut self, name: u32) -> ThreadId {
        if let Some(&id) = self.thread_small.get(name as usize)
            && id != ABSENT
        {
            return ThreadId(id);
        }
        self.thread_id_slow(name)
    }

    #[cold]
    fn thread_id_slow(&mut self, name: u32) -> ThreadId {
        let fresh = ThreadId(self.thread_names.len() as u32);
        if (name as usize) < SMALL {
            grow(&mut self.thread_small, name as usize);
            self.thread_small[name as usize] = fresh.0;
        } else if let Some(&id) = self.thread_map.get(&name) {
            return id;
        } else {
            self.thread_map.insert(name, fresh);
        }
        self.thread_names.push(name);
        fresh
    }

    /// The id of address `M[n]`.
    #[inline]
    pub fn memory_id(&mut self, n: u64) -> AddrId {
        if let Some(&id) = self.addr_small.get(n as usize)
            && id != ABSENT
        {
            return AddrId(id);
        }
        self.memory_id_slow(n)
    }

    #[cold]
    fn memory_id_slow(&mut self, n: u64) -> AddrId {
        let fresh = AddrId(self.addr_names.len() as u32);
        if n < SMALL as u64 {
            grow(&mut self.addr_small, n as usize);
            self.addr_small[n as usize] = fresh.0;
        } else if let Some(&id) = self.memory_map.get(&n) {
            return id;
        } else {
            self.memory_map.insert(n, fresh);
        }
        self.addr_names.push(AddrName::Memory(n));
        fresh
    }

    /// The id of a named address.
    pub fn named_id(&mut self, name: &str) -> AddrId {
        if let Some(&id) = self.named_map.get(name) {
            return id;
        }
        let fresh = AddrId(self.addr_names.len() as u32);
        self.named_map.insert(name.into(), fresh);
        self.addr_names.push(AddrName::Named(name.into()));
        fresh
    }

    /// The id of a lock.
    pub fn lock_id(&mut self, name: &str) -> AddrId {
        if let Some(&id) = self.lock_map.get(name) {
            return id;
        }
        let fresh = AddrId(self.addr_names.len() as u32);
        self.lock_map.insert(name.into(), fresh);
        self.addr_names.push(AddrName::Lock(name.into()));
        fresh
    }

    /// The id of an address or lock by its name.
    pub fn addr_id(&mut self, name: &AddrName) -> AddrId {
        match name {
            AddrName::Memory(n) => self.memory_id(*n),
            AddrName::Named(name) => self.named_id(name),
            AddrName::Lock(name) => self.lock_id(name),
            AddrName::Part(part) => self.part_id(&part.of, part.offset, part.width),
        }
    }

    #[inline]
    pub(crate) fn push_raw(
        &mut self,
        kind: OpKind,
        thread: ThreadId,
        addr: AddrId,
        read: u64,
        write: u64,
        line: u64,
    ) -> OpId {
        let id = OpId(self.kind.len() as u32);
        self.kind.push(kind);
        self.thread.push(thread);
        self.addr.push(addr);
        self.read.push(read);
        self.write.push(write);
        self.line.push(line.saturating_sub(self.first_line) as u32);
        if !self.spans.is_empty() {
            self.spans.push(Span::UNKNOWN);
        }
        if !self.marks.is_empty() {
            self.marks.push(Marks::NONE);
        }
        id
    }

    /// Adds a load that returned `value`.
    #[inline]
    pub fn push_load(&mut self, thread: ThreadId, addr: AddrId, value: u64, line: u64) -> OpId {
        self.push_raw(OpKind::Load, thread, addr, value, 0, line)
    }

    /// Adds a store of `value`.
    #[inline]
    pub fn push_store(&mut self, thread: ThreadId, addr: AddrId, value: u64, line: u64) -> OpId {
        self.push_raw(OpKind::Store, thread, addr, 0, value, line)
    }

    /// Adds a read-modify-write.
    #[inline]
    pub fn push_rmw(&mut self, thread: ThreadId, addr: AddrId, read: u64, write: u64, line: u64) -> OpId {
        self.push_raw(OpKind::Rmw, thread, addr, read, write, line)
    }

    /// Adds a barrier: `None` is `sync`.
    pub fn push_fence(&mut self, thread: ThreadId, mask: Option<Mask>, line: u64) -> OpId {
        let bits = mask.map_or(SYNC_BITS, |mask| mask.bits() as u64);
        self.push_raw(OpKind::Fence, thread, AddrId::NONE, bits, 0, line)
    }

    /// Adds an acquire.
    pub fn push_acquire(&mut self, thread: ThreadId, lock: AddrId, line: u64) -> OpId {
        self.push_raw(OpKind::Acquire, thread, lock, 0, 0, line)
    }

    /// Adds a release.
    pub fn push_release(&mut self, thread: ThreadId, lock: AddrId, line: u64) -> OpId {
        self.push_raw(OpKind::Release, thread, lock, 0, 0, line)
    }

    /// Adds a copy of an operation; its thread and address ids must be this trace's.
    pub fn push(&mut self, op: Op) -> OpId {
        let read = match op.kind {
            OpKind::Fence => op.mask.map_or(SYNC_BITS, |mask| mask.bits() as u64),
            _ => op.read,
        };
        let id = self.push_raw(op.kind, op.thread, op.addr, read, op.write, op.line);
        if op.span != Span::UNKNOWN {
            self.set_span(id, op.span);
        }
        if !op.marks.is_empty() {
            self.set_marks(id, op.marks);
        }
        id
    }

    /// Sets when an operation was pending.
    pub fn set_span(&mut self, op: OpId, span: Span) {
        if self.spans.is_empty() {
            self.spans.resize(self.kind.len(), Span::UNKNOWN);
        }
        self.spans[op.index()] = span;
    }

    /// The trace made of these operations only, in their order, with this trace's names, lines, clock, guards and initial
    /// values, and those of its `final` and `order` lines that the two functions keep (by index), the latter restricted to
    /// what is left. Not yet resolved.
    ///
    /// Operation `i` of the result is `ops[i]`; threads and addresses are renumbered. To be meaningful, `ops` must hold the
    /// write that each of its reads, and each final value kept, returned, and whole sessions.
    pub fn restricted_to(
        &self,
        ops: &[OpId],
        keep_final: impl Fn(usize) -> bool,
        keep_order: impl Fn(usize) -> bool,
    ) -> Trace {
        let left_out = self.left_out.clone();
        let mut part = Trace { first_line: self.first_line, clock: self.clock, left_out, ..Trace::default() };
        let mut renamed: FxHashMap<AddrId, AddrId> = FxHashMap::default();
        for &id in ops {
            let mut op = self.op(id);
            op.thread = part.thread_id(self.thread_names[op.thread.index()]);
            if op.addr != AddrId::NONE {
                op.addr = *renamed.entry(op.addr).or_insert_with(|| part.addr_id(&self.addr_names[op.addr.index()]));
            }
            part.push(op);
        }
        part.torn = self.torn;
        self.restrict_dependencies(ops, &mut part);
        if !self.high.is_empty() {
            let high = (0..).map(OpId).zip(ops).filter_map(|(new, op)| Some((new, *self.high.get(op)?)));
            part.high = high.collect();
        }
        if !self.pieces.is_empty() {
            let pieces = (0..).map(OpId).zip(ops).filter_map(|(new, op)| Some((new, self.pieces.get(op)?.clone())));
            part.pieces = pieces.collect();
        }
        self.restrict_groups(ops, &mut part);
        for (_, end) in self.finals.iter().enumerate().filter(|&(i, _)| keep_final(i)) {
            let addr = *renamed.entry(end.addr).or_insert_with(|| part.addr_id(&self.addr_names[end.addr.index()]));
            part.finals.push(Final { addr, ..*end });
        }
        for init in &self.inits {
            if let Some(&addr) = renamed.get(&init.addr) {
                part.inits.push(Init { addr, ..*init });
            }
        }
        for guard in &self.guards {
            let addrs: Vec<AddrId> = guard.addrs.iter().filter_map(|addr| renamed.get(addr)).copied().collect();
            if let Some(&lock) = renamed.get(&guard.lock) {
                part.guards.push(Guard { lock, addrs, line: guard.line });
            }
        }
        for (i, order) in self.orders.iter().enumerate() {
            let Some(&addr) = renamed.get(&order.addr) else { continue };
            if !keep_order(i) {
                continue;
            }
            let mut left: Vec<u64> = ops
                .iter()
                .filter(|&&op| self.kind(op).writes() && self.addr(op) == order.addr)
                .map(|&op| self.write(op))
                .collect();
            left.sort_unstable();
            let values: Vec<u64> = order.values.iter().filter(|v| left.binary_search(v).is_ok()).copied().collect();
            if !values.is_empty() {
                part.orders.push(OrderLine { addr, values, line: order.line });
            }
        }
        part
    }
}
