//! A thread's announcement, kept for each of its steps.

use super::idle::Idle;
use membar_core::{AccessKind, Barrier, C11};
use membar_explore::{Awaited, Standing};

/// Sites of accesses that no instruction of the program makes: the beginning and the end of a thread.
pub const START_SITE: u32 = u32::MAX - 1;
/// See [`START_SITE`].
pub const END_SITE: u32 = u32::MAX - 2;

/// The next access of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending {
    /// If it compares: the value it expects.
    pub expected: u64,
    pub cell: u32,
    pub site: u32,
    pub kind: AccessKind,
    pub barrier: Barrier,
    pub c11: C11,
    /// It writes only if the cell holds `expected`. A load that does is a choice among this many outcomes.
    pub compares: bool,
    /// It may be disabled: the thread's `awaited` says when. Or it is a choice: the thread does not simply continue.
    pub waits: bool,
    /// It is disabled while another thread is in an atomic section: the thread's `awaited` says so.
    pub guarded: bool,
    /// It counts who holds a lock, and what came of it does not depend on how many others do.
    pub counted: bool,
    /// If it is to a part of the cell: where that begins, times 16, and how long it is ([`super::parts`]).
    pub part: u8,
}

impl Pending {
    /// If it is a choice: how many outcomes it has.
    pub fn outcomes(&self) -> Option<u64> {
        (self.compares && self.kind == AccessKind::Load).then_some(self.expected)
    }

    /// A plain access.
    pub fn plain(cell: u32, site: u32, kind: AccessKind) -> Pending {
        let (compares, waits, guarded, counted, part) = (false, false, false, false, 0);
        Pending {
            expected: 0,
            cell,
            site,
            kind,
            barrier: Barrier::None,
            c11: C11::default(),
            compares,
            waits,
            guarded,
            counted,
            part,
        }
    }
}

/// Where a thread stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stand {
    /// It is about to make an access.
    Access,
    /// It has ended.
    Done,
    /// It has ended the whole program: it has returned from `main` or called `exit`.
    Over,
    Fault,
    /// It has made an assumption that does not hold.
    Dropped,
}

/// Everything known about a thread after some of its steps.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The access it is about to make, if any.
    pub pending: Pending,
    pub stand: Stand,
    /// The instruction that the thread came to for the first time with this, or [`NO_STAMP`].
    pub stamped: u32,
    /// The condition that the pending access waits for, if it waits.
    pub awaited: Awaited,
    pub idle: Idle,
}

/// No instruction.
pub const NO_STAMP: u32 = u32::MAX;

impl Slot {
    /// The access that the thread is about to make.
    #[inline]
    pub fn access(&self) -> Option<&Pending> {
        (self.stand == Stand::Access).then_some(&self.pending)
    }

    /// Whether what it is about to do may be disabled.
    #[inline(always)]
    pub fn waits(&self) -> bool {
        let (from, to) = self.idle.round;
        self.pending.waits | self.pending.guarded | (from < to)
    }

    /// How the thread stands if it does not simply continue.
    #[inline]
    fn standing_still(&self) -> Standing {
        if self.pending.outcomes().is_some() { Standing::Chooses } else { Standing::Waits }
    }

    /// How the thread stands.
    #[inline(always)]
    pub fn standing(&self) -> Standing {
        match self.stand {
            Stand::Access if self.waits() => self.standing_still(),
            Stand::Access => Standing::Runs,
            Stand::Done | Stand::Over | Stand::Fault | Stand::Dropped => Standing::Stopped,
        }
    }
}

pub const NOTHING: Awaited = Awaited { addr: 0, value: 0, until: false };
