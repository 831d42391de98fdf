//! A running program's effect on memory, one access at a time.
//!
//! A [`Trace`](crate::Trace) is the record of an execution that somebody else ran. The types here are for executions
//! that we run ourselves: a thread says which [`Access`] it is about to make, and once it has been made it is
//! [`Performed`]. Barriers touch no memory and are not accesses; each access carries the strongest [`Barrier`] that its
//! thread went through since its previous access, and what C11 says about it.

use crate::{C11, Fence, Order};

/// The effect of an access.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes in one step (an interlocked operation). A compare-and-swap that fails is one too: it waits for
    /// the store buffer like any other, but it writes nothing (see [`Performed::writes`]).
    Rmw,
}

impl AccessKind {
    /// Whether the access reads memory.
    #[inline]
    pub fn reads(self) -> bool {
        self != AccessKind::Store
    }

    /// Whether the access may write memory.
    #[inline]
    pub fn may_write(self) -> bool {
        self != AccessKind::Load
    }
}

/// The barrier that a thread passed between two accesses; the greater the stronger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Barrier {
    /// Nothing.
    #[default]
    None,
    /// Stores before it reach memory before stores after it.
    Store,
    /// Everything before it comes before everything after it.
    Full,
}

/// Something that is tried at an instruction to make a program safe.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Remedy {
    /// A barrier is added.
    Barrier(Barrier),
    /// Its memory order is at least this.
    Order(Order),
    /// A fence of C11 is added.
    Fence(Fence),
}

impl Remedy {
    /// With this bit in the number of the instruction, a barrier or fence comes right before it; otherwise right after it.
    pub const BEFORE: u32 = 1 << 31;
}

/// An access that a thread is about to make.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Its effect.
    pub kind: AccessKind,
    /// The strongest barrier since the thread's previous access.
    pub barrier: Barrier,
    /// Its memory order, and the C11 fences since the thread's previous access.
    pub c11: C11,
    /// If it accesses only some bytes of what is one address: where they begin, times 16, and how many they are. 0 is all of
    /// them, and so is [`Access::WIDE`].
    pub part: u8,
    /// The address, a dense number.
    pub addr: u32,
    /// The instruction, a dense number over all threads: the same instruction has the same number each time it runs.
    pub site: u32,
    /// For a compare-and-swap: it writes only if it reads this value in its bytes. For a load: it is a *choice*, see
    /// [`Access::outcomes`].
    pub expected: Option<u64>,
}

impl Access {
    /// If this is a choice: how many outcomes it has. A choice reads an address that nobody writes, and what it reads is any
    /// number below this one; so it is ordered with nothing but its own thread.
    #[inline]
    pub fn outcomes(&self) -> Option<u64> {
        if self.kind == AccessKind::Load { self.expected } else { None }
    }

    /// Its memory order; that of a compare-exchange depends on whether it writes.
    #[inline]
    pub fn order(&self, writes: bool) -> Order {
        if writes || self.kind != AccessKind::Rmw { self.c11.order() } else { self.c11.failure() }
    }

    /// The part that stands for all of an address whose values are numbers for more than 8 bytes: no byte can be told from them.
    pub const WIDE: u8 = 0xff;

    /// Whether its address is known to have more than 8 bytes.
    #[inline]
    pub fn is_wide(&self) -> bool {
        self.part == Access::WIDE || (self.part >> 4) + (self.part & 15) > 8
    }

    /// The bytes of its address that it accesses. An address has at most 16.
    #[inline]
    pub fn bytes(&self) -> std::ops::Range<u8> {
        match self.part {
            0 | Access::WIDE => 0..16,
            part => part >> 4..(part >> 4) + (part & 15),
        }
    }

    /// Whether two accesses to one address have a byte in common.
    #[inline]
    pub fn overlaps(&self, other: &Access) -> bool {
        let (a, b) = (self.bytes(), other.bytes());
        a.start < b.end && b.start < a.end
    }

    /// Where its bytes begin in a value of its address, and which bits they are.
    #[inline]
    fn bits(&self) -> (u32, u64) {
        match self.part {
            0 | Access::WIDE => (0, u64::MAX),
            part => (8 * u32::from(part >> 4), u64::MAX.checked_shr(64 - 8 * u32::from(part & 15)).unwrap_or(0)),
        }
    }

    /// Its bytes of a value of its address, which has at most 8. If it has more, the value has been made for this access
    /// ([`Threads::shown`](crate::Threads::shown)): bytes behind the eighth are at its beginning.
    #[inline]
    pub fn part_of(&self, value: u64) -> u64 {
        let (shift, mask) = self.bits();
        let shift = if self.is_wide() { 0 } else { shift };
        value.checked_shr(shift).unwrap_or(0) & mask
    }

    /// A value of its address, which has at most 8 bytes, with its own bytes replaced by this value.
    #[inline]
    pub fn put_part(&self, value: u64, part: u64) -> u64 {
        let (shift, mask) = self.bits();
        let shifted = |bits: u64| bits.checked_shl(shift).unwrap_or(0);
        value & !shifted(mask) | shifted(part & mask)
    }

    /// Whether the access would write if it found this value at its address.
    #[inline]
    pub fn writes_on(&self, value: u64) -> bool {
        self.kind.may_write() && self.expected.is_none_or(|expected| expected == self.part_of(value))
    }

    /// Whether it is an arrival at a barrier.
    #[inline]
    pub fn arrives(&self) -> bool {
        self.c11.meets() && self.kind.may_write()
    }
}

/// An access that has been made, on a memory that holds one value per address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Performed {
    /// The thread that made it.
    pub thread: u32,
    /// Its kind.
    pub access: Access,
    /// Whether it wrote: a store always, a load never, a read-modify-write unless it is a compare-and-swap that failed.
    pub writes: bool,
    /// The value of the address before.
    pub old: u64,
    /// The value of the address after.
    pub new: u64,
}

impl Performed {
    /// The memory order that it had. An operation on a synchronisation object that changed nothing has failed.
    #[inline]
    pub fn order(&self) -> Order {
        let unchanged = self.access.c11.is_fresh() && self.old == self.new;
        self.access.order(self.writes && !unchanged)
    }
}

/// A memory model weaker than sequential consistency, as a machine: which store buffers stand between threads and memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relaxation {
    /// One first-in first-out buffer per thread. Barriers and interlocked operations wait until it is empty.
    Tso,
    /// One per thread and address. A full barrier waits until all are empty, an interlocked operation for its own address's.
    Pso,
}

/// A memory model that programs are verified under.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum ProgramModel {
    /// x86: [`Relaxation::Tso`].
    Tso,
    /// [`Relaxation::Pso`].
    Pso,
    /// RC11 (Lahav and others, 2017) with the release sequences of C++20: what compilers, Arm, RISC-V and Power may do to a C or C++
    /// program, load buffering excepted.
    C11,
}

impl ProgramModel {
    /// The store buffers, if that is what the model is.
    pub fn machine(self) -> Option<Relaxation> {
        match self {
            ProgramModel::Tso => Some(Relaxation::Tso),
            ProgramModel::Pso => Some(Relaxation::Pso),
            ProgramModel::C11 => None,
        }
    }
}

impl From<Relaxation> for ProgramModel {
    fn from(machine: Relaxation) -> ProgramModel {
        match machine {
            Relaxation::Tso => ProgramModel::Tso,
            Relaxation::Pso => ProgramModel::Pso,
        }
    }
}

/// A step of a machine with store buffers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MachineStep {
    /// The thread makes its next access; a store goes into its buffer.
    Issue(u32),
    /// The thread's next access is a choice ([`Access::outcomes`]), and this is what it reads.
    Choose(u32, u64),
    /// The thread's oldest buffered store, which is to this address (TSO), or its oldest to this address (PSO), reaches
    /// memory. The third number is the store's [`Access::part`].
    Commit(u32, u32, u8),
}

/// A memory model as a predicate over execution graphs: sequential consistency, and those that programs are verified under.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum GraphModel {
    /// Sequential consistency.
    Sc,
    /// As [`ProgramModel::Tso`].
    Tso,
    /// As [`ProgramModel::Pso`].
    Pso,
    /// As [`ProgramModel::C11`].
    C11,
}

impl GraphModel {
    /// All of them.
    pub const ALL: [GraphModel; 4] = [GraphModel::Sc, GraphModel::Tso, GraphModel::Pso, GraphModel::C11];

    /// `sc`, `tso`, `pso` or `c11`.
    pub fn name(self) -> &'static str {
        match self {
            GraphModel::Sc => "sc",
            GraphModel::Tso => "tso",
            GraphModel::Pso => "pso",
            GraphModel::C11 => "c11",
        }
    }

    /// The store buffers, if that is what the model is.
    pub fn machine(self) -> Option<Relaxation> {
        match self {
            GraphModel::Tso => Some(Relaxation::Tso),
            GraphModel::Pso => Some(Relaxation::Pso),
            GraphModel::Sc | GraphModel::C11 => None,
        }
    }
}

impl From<ProgramModel> for GraphModel {
    fn from(model: ProgramModel) -> GraphModel {
        match model {
            ProgramModel::Tso => GraphModel::Tso,
            ProgramModel::Pso => GraphModel::Pso,
            ProgramModel::C11 => GraphModel::C11,
        }
    }
}

/// A step of an execution that need not be sequentially consistent: a thread makes its next access as if the last `behind` writes
/// to its address had not been made yet. A read finds what was there before them, and a write goes before them in co; so a
/// read-modify-write reads the write before them, and its own goes right after that one. Steps come in an order in which
/// each is after those before it in its thread, and after the write that it reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WeakStep {
    /// The thread that makes it.
    pub thread: u32,
    /// The outcome, if the next access is a choice ([`Access::outcomes`]). A choice is behind nothing: nobody writes its address.
    pub choice: Option<u64>,
    /// How many of the writes to its address, of those before it in the list, it comes before in co.
    pub behind: u32,
}

impl WeakStep {
    /// The thread makes its next access, which is not a choice, after all writes so far.
    pub const fn of(thread: u32) -> WeakStep {
        WeakStep { thread, choice: None, behind: 0 }
    }
}

/// An access that an execution is claimed to have: who makes it, which instruction it is, and what it reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// The thread.
    pub thread: u32,
    /// The instruction.
    pub site: u32,
    /// The value that it reads, unless it is a store or that is not known.
    pub read: Option<u64>,
}
