//! What an instruction says about its access besides address and value: marks and dependencies.

use crate::{AddrId, OpId, OpKind, ThreadId, Trace, named};

/// Marks of one operation, a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Marks(u16);

impl Marks {
    /// None of them.
    pub const NONE: Marks = Marks(0);
    /// `aq`: acquire, as RISC-V's `.aq` bit and Arm's LDAR.
    pub const ACQUIRE: Marks = Marks(1);
    /// `rl`: release, as RISC-V's `.rl` bit and Arm's STLR.
    pub const RELEASE: Marks = Marks(2);
    /// `aqpc`: an acquire that may pass an earlier release, as Arm's LDAPR.
    pub const ACQUIRE_PC: Marks = Marks(4);
    /// `lr`: a load that reserves its address.
    pub const RESERVES: Marks = Marks(8);
    /// `sc`: a store that needs the reservation.
    pub const CONDITIONAL: Marks = Marks(16);
    /// A store conditional that did not store. The operation is a barrier that orders nothing.
    pub const FAILED: Marks = Marks(32);
    /// A barrier in RISC-V's words: `fence r,rw`.
    pub const FENCE: Marks = Marks(64);
    /// A barrier in Arm's words: `dmb ld`.
    pub const DMB: Marks = Marks(128);
    /// A barrier that waits for what instructions decide: `isb`.
    pub const ISB: Marks = Marks(256);
    /// A barrier of the instruction stream, `fence.i`, which orders no access.
    pub const FENCE_I: Marks = Marks(512);

    /// A half of an atomic that [`Trace::for_model`] split: it is paired with the other half, whatever reservations there are.
    pub const HALF: Marks = Marks(1024);

    /// An operation of a reading ([`Trace::reading`]) of which it is not known what it returned. Others may depend on it.
    pub const UNKNOWN: Marks = Marks(2048);

    /// Both kinds of acquire.
    pub const ACQUIRES: Marks = Marks::ACQUIRE.with(Marks::ACQUIRE_PC);

    /// The marks that stand behind an access, with their words in a trace.
    pub const WORDS: [(Marks, &'static str); 3] =
        [(Marks::ACQUIRE, "aq"), (Marks::RELEASE, "rl"), (Marks::ACQUIRE_PC, "aqpc")];

    /// Is any mark in both?
    #[inline]
    pub fn meets(self, other: Marks) -> bool {
        self.0 & other.0 != 0
    }

    /// The marks of both.
    #[inline]
    pub const fn with(self, other: Marks) -> Marks {
        Marks(self.0 | other.0)
    }

    /// Without these marks.
    #[inline]
    pub fn without(self, other: Marks) -> Marks {
        Marks(self.0 & !other.0)
    }

    /// Without what makes a load reserved or a store conditional.
    #[inline]
    pub fn without_pair(self) -> Marks {
        Marks(self.0 & !(Marks::RESERVES.0 | Marks::CONDITIONAL.0 | Marks::HALF.0))
    }

    /// No mark at all?
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

named! {
    /// What of a later operation was computed from the result of an earlier one.
    pub enum Depends {
        /// Its address.
        Address = "addr",
        /// The value it stores.
        Data = "data",
        /// Whether it is executed.
        Control = "ctrl",
    }
}

/// A dependency: the `how` of `op` came from the operation `back` lines earlier in its thread, which is `on`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dependency {
    /// The later operation.
    pub op: OpId,
    /// What of it depends.
    pub how: Depends,
    /// How many operations of the thread earlier (1 is the one before).
    pub back: u32,
    /// The earlier operation; known once the trace is resolved.
    pub on: OpId,
}

impl Trace {
    /// The marks of an operation.
    #[inline]
    pub fn marks(&self, op: OpId) -> Marks {
        self.marks.get(op.index()).copied().unwrap_or_default()
    }

    /// Has any operation a mark?
    #[inline]
    pub fn has_marks(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Has any operation a dependency?
    #[inline]
    pub fn has_dependencies(&self) -> bool {
        !self.deps.is_empty()
    }

    /// Gives an operation marks.
    pub fn set_marks(&mut self, op: OpId, marks: Marks) {
        if self.marks.is_empty() {
            self.marks.resize(self.kind.len(), Marks::NONE);
        }
        self.marks[op.index()] = marks;
    }

    /// Adds a store conditional that did not store: a barrier that orders nothing.
    pub fn push_failed(&mut self, thread: ThreadId, addr: AddrId, line: u64) -> OpId {
        let op = self.push_raw(OpKind::Fence, thread, addr, 0, 0, line);
        self.set_marks(op, Marks::CONDITIONAL.with(Marks::FAILED));
        op
    }

    /// Gives a part, made of these operations, their dependencies. One on an operation that is gone is gone too: fewer pairs
    /// keep their order.
    pub(crate) fn restrict_dependencies(&self, ops: &[OpId], part: &mut Trace) {
        if self.deps.is_empty() {
            return;
        }
        let mut place = vec![u32::MAX; self.len()];
        let mut next = vec![0u32; self.threads()];
        for (i, &id) in ops.iter().enumerate() {
            let at = &mut next[self.thread(id).index()];
            place[id.index()] = *at;
            *at += 1;
            for dep in self.dependencies(id).iter().filter(|dep| place[dep.on.index()] != u32::MAX) {
                let back = place[id.index()] - place[dep.on.index()];
                part.deps.push(Dependency { op: OpId(i as u32), back, on: OpId(i as u32), ..*dep });
            }
        }
    }

    /// Says that the last operation pushed depends on the one `back` operations earlier in its thread.
    pub fn push_dependency(&mut self, how: Depends, back: u32) {
        let op = OpId(self.kind.len() as u32 - 1);
        self.deps.push(Dependency { op, how, back, on: op });
    }

    /// The dependencies of an operation, in the order of the text.
    #[inline]
    pub fn dependencies(&self, op: OpId) -> &[Dependency] {
        match self.dep_start.get(op.index()..op.index() + 2) {
            Some(&[start, end]) => &self.deps[start as usize..end as usize],
            _ if self.deps.is_empty() => &[],
            // Not resolved yet.
            _ => {
                let start = self.deps.partition_point(|dep| dep.op < op);
                &self.deps[start..start + self.deps[start..].partition_point(|dep| dep.op == op)]
            }
        }
    }

    /// Did what the later operation depends on in this way come from the earlier one?
    pub fn depends(&self, later: OpId, how: Depends, earlier: OpId) -> bool {
        self.dependencies(later).iter().any(|dep| dep.how == how && dep.on == earlier)
    }

    /// The load reserved of a store conditional that stored.
    pub fn reservation(&self, op: OpId) -> Option<OpId> {
        self.reservations.binary_search_by_key(&op, |&(store, _)| store).ok().map(|at| self.reservations[at].1)
    }

    /// A store conditional that stored without holding a reservation.
    pub fn unreserved(&self) -> Option<OpId> {
        self.unreserved
    }

    /// Is it a store that has to follow another write of its address directly, as [`Trace::source`] says, because a
    /// reservation was held meanwhile?
    #[inline]
    pub fn held(&self, op: OpId) -> bool {
        self.kind(op) == OpKind::Store && self.source(op) != crate::Source::NONE
    }

    /// Can another operation depend on it: does it return something?
    pub fn returns(&self, op: OpId) -> bool {
        self.kind(op).reads() || self.marks(op).meets(Marks::CONDITIONAL.with(Marks::UNKNOWN))
    }
}
