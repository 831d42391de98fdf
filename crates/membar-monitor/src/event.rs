//! A monitor's input and output.

use membar_core::{AccessKind, Barrier, Performed};
use std::fmt;

/// The instruction of an event of which nothing is known.
pub const NO_SITE: u32 = u32::MAX;

/// The effect of an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Reads an address.
    Load {
        /// The address.
        addr: u32,
    },
    /// Writes an address, through the store buffer.
    Store {
        /// The address.
        addr: u32,
    },
    /// Reads and writes an address in one step, past the store buffer, which must be empty (PSO: of this address).
    Interlocked {
        /// The address.
        addr: u32,
        /// Does it write? A compare-and-swap that fails does not; it waits for the buffer all the same.
        writes: bool,
    },
    /// Waits until all stores of the thread have reached memory.
    Fence,
    /// Stores before it reach memory before stores and interlocked operations after it.
    StoreBarrier,
    /// Begins a thread: the stores of the starting thread have reached memory, and all it did happens before the child.
    Start {
        /// The thread that begins.
        child: u32,
    },
    /// Waits for the end of a thread: the stores of the child have reached memory, and all it did happens before the rest
    /// of the waiting thread.
    Join {
        /// The thread that has ended.
        child: u32,
    },
}

impl Op {
    /// The address, if memory is accessed.
    #[inline]
    pub fn addr(self) -> Option<u32> {
        match self {
            Op::Load { addr } | Op::Store { addr } | Op::Interlocked { addr, .. } => Some(addr),
            _ => None,
        }
    }

    /// Is memory written?
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Op::Store { .. } | Op::Interlocked { writes: true, .. })
    }

    /// Is memory read?
    #[inline]
    pub fn reads(self) -> bool {
        matches!(self, Op::Load { .. } | Op::Interlocked { .. })
    }
}

/// One event of an SC interleaving. Threads and addresses are dense numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    /// The thread.
    pub thread: u32,
    /// The operation.
    pub op: Op,
    /// The instruction, or [`NO_SITE`]: violations are grouped by it.
    pub site: u32,
    /// Where in the interleaving: a line or a number, never less than that of the event before.
    pub at: u64,
}

impl Event {
    /// Taking a lock or giving it back, as the two events that it stands for: a fence, and an interlocked operation on
    /// the lock's own address.
    pub fn lock(thread: u32, addr: u32, site: u32, at: u64) -> [Event; 2] {
        [Op::Fence, Op::Interlocked { addr, writes: true }].map(|op| Event { thread, op, site, at })
    }

    /// The barrier before the access, if there is one, and the access.
    pub fn performed(performed: &Performed, at: u64) -> (Option<Event>, Event) {
        let Performed { thread, access, writes, .. } = *performed;
        let (addr, site) = (access.addr, access.site);
        let barrier = match access.barrier {
            Barrier::None => None,
            Barrier::Store => Some(Op::StoreBarrier),
            Barrier::Full => Some(Op::Fence),
        };
        let op = match access.kind {
            AccessKind::Load => Op::Load { addr },
            AccessKind::Store => Op::Store { addr },
            AccessKind::Rmw => Op::Interlocked { addr, writes },
        };
        (barrier.map(|op| Event { thread, op, site, at }), Event { thread, op, site, at })
    }
}

/// A write, as long as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Write {
    /// The thread that wrote.
    pub thread: u32,
    /// Which of the thread's writes it is, from 1; 0 is no write at all.
    pub number: u32,
    /// The instruction.
    pub site: u32,
    /// Where in the interleaving.
    pub at: u64,
}

/// The end of an SC interleaving that has a sibling under the weaker model which is not SC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Violation {
    /// The store that can be delayed. It happens before `prev`.
    pub store: Write,
    /// The access of the same address that overtakes it.
    pub access: Event,
    /// The event just before `access` in its thread: an access, a join, or the [`Op::Start`] that began the thread.
    pub prev: Event,
}

/// The published monitors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Algorithm {
    /// Burnim, Sen and Stergiou's for TSO.
    Tso,
    /// Theirs for PSO.
    Pso,
    /// Burckhardt and Musuvathi's for TSO, as published.
    Sober,
    /// The same over the standard definition of TSO.
    SoberFixed,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 4] = [Algorithm::Tso, Algorithm::Pso, Algorithm::Sober, Algorithm::SoberFixed];

    /// `tso`, `pso`, `sober` or `sober-fixed`.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Tso => "tso",
            Algorithm::Pso => "pso",
            Algorithm::Sober => "sober",
            Algorithm::SoberFixed => "sober-fixed",
        }
    }

    /// The memory model whose violations it finds.
    pub fn model(self) -> membar_core::Relaxation {
        if self == Algorithm::Pso { membar_core::Relaxation::Pso } else { membar_core::Relaxation::Tso }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
