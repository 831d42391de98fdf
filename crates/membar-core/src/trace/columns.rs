//! What a trace holds, by operation, thread and address.

use super::{AddrName, Op, OpKind, SYNC_BITS, Span, Trace};
use crate::{AddrId, Mask, OpId, Source, ThreadId};

impl Trace {
    /// Number of operations, barriers included.
    #[inline]
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// No operation at all?
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// All operations, in the order of the text.
    pub fn ops(&self) -> impl ExactSizeIterator<Item = OpId> + use<> {
        (0..self.kind.len() as u32).map(OpId)
    }

    /// One operation.
    pub fn op(&self, op: OpId) -> Op {
        let kind = self.kind(op);
        Op {
            kind,
            thread: self.thread(op),
            addr: self.addr(op),
            read: if kind == OpKind::Fence { 0 } else { self.read(op) },
            write: self.write(op),
            mask: self.mask(op),
            span: self.span(op),
            line: self.line(op),
            marks: self.marks(op),
        }
    }

    /// Its effect.
    #[inline]
    pub fn kind(&self, op: OpId) -> OpKind {
        self.kind[op.index()]
    }

    /// By which thread.
    #[inline]
    pub fn thread(&self, op: OpId) -> ThreadId {
        self.thread[op.index()]
    }

    /// To which address.
    #[inline]
    pub fn addr(&self, op: OpId) -> AddrId {
        self.addr[op.index()]
    }

    /// The value read.
    #[inline]
    pub fn read(&self, op: OpId) -> u64 {
        self.read[op.index()]
    }

    /// The value written.
    #[inline]
    pub fn write(&self, op: OpId) -> u64 {
        self.write[op.index()]
    }

    /// A barrier's mask; `None` for `sync` and for what is not a barrier.
    #[inline]
    pub fn mask(&self, op: OpId) -> Option<Mask> {
        let bits = self.read[op.index()];
        (self.kind(op) == OpKind::Fence && bits != SYNC_BITS).then(|| Mask::from_bits(bits as u8))
    }

    /// When it was pending, as recorded.
    #[inline]
    pub fn span(&self, op: OpId) -> Span {
        self.spans.get(op.index()).copied().unwrap_or(Span::UNKNOWN)
    }

    /// Its line in the text, from 1.
    #[inline]
    pub fn line(&self, op: OpId) -> u64 {
        self.first_line + self.line[op.index()] as u64
    }

    /// The line at which the trace begins.
    pub fn first_line(&self) -> u64 {
        self.first_line
    }

    /// Names of the threads, by id.
    pub fn thread_names(&self) -> &[u32] {
        &self.thread_names
    }

    /// Names of the addresses and locks, by id.
    pub fn addr_names(&self) -> &[AddrName] {
        &self.addr_names
    }

    /// Number of threads that have an operation.
    pub fn threads(&self) -> usize {
        self.thread_names.len()
    }

    /// Number of addresses and locks.
    pub fn addrs(&self) -> usize {
        self.addr_names.len()
    }

    /// Where a read's value comes from; a release reads from its acquire. For a store that had to follow another write
    /// directly, because a reservation was held ([`Trace::held`]), that write.
    #[inline]
    pub fn source(&self, op: OpId) -> Source {
        self.rf[op.index()]
    }

    /// Place in its thread's program order, from 0.
    #[inline]
    pub fn po(&self, op: OpId) -> u32 {
        self.po[op.index()]
    }

    /// A thread's operations, in program order.
    #[inline]
    pub fn thread_ops(&self, thread: ThreadId) -> &[OpId] {
        let t = thread.index();
        &self.thread_ops[self.thread_start[t] as usize..self.thread_start[t + 1] as usize]
    }

    /// An address's initial value.
    pub fn initial(&self, addr: AddrId) -> u64 {
        self.initial[addr.index()]
    }

    /// The writes behind `self.finals`, in the same order; [`Source::UNWRITTEN`] where nobody wrote the value.
    pub fn final_sources(&self) -> &[Source] {
        &self.final_sources
    }

    /// The writes behind `self.orders`, in the same order.
    pub fn order_ops(&self) -> &[Vec<OpId>] {
        &self.order_ops
    }

    /// The release that ends an acquire's session, the acquire that began a release's.
    #[inline]
    pub fn partner(&self, op: OpId) -> Option<OpId> {
        self.kind(op).locks().then(|| self.partner[op.index()])
    }

    /// Is an operation of the same thread inside the session of this acquire or release, its ends included?
    pub fn in_session(&self, end: OpId, op: OpId) -> bool {
        let Some(other) = self.partner(end) else { return false };
        let (a, b) = (self.po(end), self.po(other));
        self.thread(end) == self.thread(op) && (a.min(b)..=a.max(b)).contains(&self.po(op))
    }

    /// Does a session of their thread hold both operations?
    pub fn one_session(&self, earlier: OpId, later: OpId) -> bool {
        let ops = self.thread_ops(self.thread(earlier));
        let before = &ops[..=self.po(earlier) as usize];
        before
            .iter()
            .any(|&op| self.kind(op) == OpKind::Acquire && self.in_session(op, earlier) && self.in_session(op, later))
    }

    /// Does a lock guard an address?
    pub fn guards(&self, lock: AddrId, addr: AddrId) -> bool {
        self.guards.iter().any(|guard| guard.lock == lock && guard.addrs.contains(&addr))
    }

    /// Does any operation take a lock?
    pub fn has_locks(&self) -> bool {
        !self.partner.is_empty()
    }
}
