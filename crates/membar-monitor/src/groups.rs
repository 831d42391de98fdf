//! Violations counted by the pair of instructions that causes them, as in the papers' tables.

use crate::event::{Event, NO_SITE, Op, Violation};
use rustc_hash::FxHashMap;

/// The unit that counts as one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Instruction {
    /// It has a number.
    Site(u32),
    /// It has none: all accesses of one kind by a thread to an address count as one.
    Access {
        /// The thread.
        thread: u32,
        /// The address.
        addr: u32,
        /// 0 load, 1 store, 2 interlocked.
        kind: u8,
    },
}

impl Instruction {
    fn new(event: &Event) -> Instruction {
        let Event { thread, op, site, .. } = *event;
        let kind = match op {
            Op::Store { .. } => 1,
            Op::Interlocked { .. } => 2,
            _ => 0,
        };
        if site == NO_SITE {
            Instruction::Access { thread, addr: op.addr().unwrap_or(0), kind }
        } else {
            Instruction::Site(site)
        }
    }
}

/// The violations of one pair of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// The first of them.
    pub first: Violation,
    /// How many.
    pub count: u64,
}

/// All violations of one monitor.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    index: FxHashMap<(Instruction, Instruction), u32>,
    /// In the order in which they were found.
    pub groups: Vec<Group>,
    /// Violations of pairs beyond [`Groups::MOST`].
    pub beyond: u64,
}

impl Groups {
    /// Pairs that are told apart; memory must not grow with the trace.
    pub const MOST: usize = 10_000;

    /// Counts a violation. True if it is the first of its pair.
    pub fn add(&mut self, violation: &Violation) -> bool {
        let access = Instruction::new(&violation.access);
        let addr = violation.access.op.addr().unwrap_or(0);
        let store = violation.store;
        let op = Op::Store { addr };
        let store = Instruction::new(&Event { thread: store.thread, op, site: store.site, at: store.at });
        let next = self.groups.len();
        if next == Self::MOST && !self.index.contains_key(&(store, access)) {
            self.beyond += 1;
            return false;
        }
        let index = *self.index.entry((store, access)).or_insert(next as u32) as usize;
        if index == next {
            self.groups.push(Group { first: *violation, count: 0 });
        }
        self.groups[index].count += 1;
        index == next
    }

    /// All violations.
    pub fn total(&self) -> u64 {
        self.groups.iter().map(|group| group.count).sum::<u64>() + self.beyond
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Groups::default();
    }
}
