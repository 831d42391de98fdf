//! Accesses to parts of a cell, and what that hides.
//!
//! Problem: where atomic accesses of different sizes overlap, the cell is the whole of them ([`super::shadow`]), so a store to
//! one byte of it and a load of another are accesses to one address for the explorer. Which values threads see is right all
//! the same, and there are no fewer classes than by bytes. But a memory model keeps a thread's accesses to one address in
//! order, and not those to two.
//!
//! Algorithm: that some cell is accessed in parts is a fact ([`super::Facts::parts`]), with which exploration begins again; from then on
//! executions under TSO and PSO are monitored by bytes (`membar-monitor/src/bytes.rs`). The monitor for C11 takes a cell for one address. For it, when
//! a thread accesses such a cell, look at what other threads have done to it, and are about to do. If one of them has
//! stored to it, then a load of bytes that the store does not write could overtake the store, unless a full barrier stands
//! or an interlocked operation stands between them. Findings are noted ([`Torn`]): the answer will not be "safe".
//!
//! Why it is enough to look when somebody else accesses the cell after the store: the pair matters only on a cycle, and the cycle
//! comes back to the store from another thread's access to its bytes. If that came before the store in all executions,
//! something would order them, and what overtakes the store as well. Otherwise it comes after the store in some
//! execution that is explored.
//!
//! Guarantees: under TSO and PSO those of the monitor. Under C11, no store and later load of one thread are taken to be in order
//! without a note. Not proved there: that the order which is assumed between other accesses of one thread, or between accesses of two
//! threads to different bytes, hides nothing.
//!
//! Deviation: explanations and the machine that confirms them have whole cells in their buffers. What it cannot confirm
//! for that reason is not called unsafe but undecided.
//!
//! Complexity: linear in the accesses made so far, at each access of programs that have such cells.

use super::slot::{Pending, Slot};
use super::trace::location;
use super::world::World;
use membar_core::{AccessKind, Barrier};
use membar_explore::Location;
use serde::{Deserialize, Serialize};

/// Two accesses of one thread to different parts of a cell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Torn {
    /// The instruction of the second, as an offset in the object.
    pub site: u32,
    /// Bytes that the first one stores, and that the second accesses.
    pub sizes: (u8, u8),
    /// The location that the second accesses.
    pub place: Option<Location>,
}

/// Everything known about parts of cells.
#[derive(Debug, Default)]
pub struct Parts {
    /// Some cell is accessed in parts.
    pub any: bool,
    pub torn: Vec<Torn>,
}

/// Where a part begins and ends in a cell of this many bytes, as [`Pending::part`] has it.
fn ends(part: u8, whole: u8) -> (u8, u8) {
    match part {
        0 => (0, whole),
        part => (part >> 4, (part >> 4) + (part & 15)),
    }
}

impl World {
    /// The bytes of an access to a part of a cell, as [`Pending::part`] has them.
    #[cold]
    pub fn part(&mut self, cell: u32, addr: usize, size: usize) -> u8 {
        self.grown |= !self.parts.any;
        self.parts.any = true;
        let whole = self.shadow.cells[cell as usize];
        let from = addr.saturating_sub(whole.at as usize);
        if size >= usize::from(whole.size) || from > 15 { 0 } else { (from << 4 | size) as u8 }
    }

    /// The thread that runs makes an access to this cell, in a program that accesses cells in parts.
    #[cold]
    pub fn look_for_torn(&mut self, cell: u32) {
        let whole = self.shadow.cells[cell as usize];
        let mut found = Vec::new();
        for (id, thread) in self.threads[..self.known].iter().enumerate() {
            let own = |at: &usize| thread.slots[*at].pending.cell == cell;
            if id != self.current {
                found.extend((0..thread.slots.len()).filter(own).filter_map(|at| torn(&thread.slots, at, whole.size)));
            }
        }
        for (access, stored) in found {
            if self.parts.torn.iter().all(|known| known.site != access.site) {
                let (from, to) = ends(access.part, whole.size);
                let place = location(whole.at as usize + usize::from(from));
                self.parts.torn.push(Torn { site: access.site, sizes: (stored, to - from), place });
                self.grown = true;
            }
        }
    }
}

/// Whether this load could overtake a store of its thread to other bytes of the cell: the load, and how many bytes the store
/// has.
fn torn(slots: &[Slot], at: usize, whole: u8) -> Option<(Pending, u8)> {
    let access = slots[at].pending;
    let (from, to) = ends(access.part, whole);
    let mut after = access;
    for Slot { pending: before, .. } in slots[..at].iter().rev() {
        if access.kind != AccessKind::Load || after.barrier == Barrier::Full || after.kind == AccessKind::Rmw {
            return None;
        }
        let (start, end) = ends(before.part, whole);
        if before.kind == AccessKind::Store && before.cell == access.cell && (from < start || to > end) {
            return Some((access, end - start));
        }
        after = *before;
    }
    None
}
