//! Accesses to parts of a cell, and what that hides.
//!
//! Problem: where atomic accesses of different sizes overlap, the cell is the whole of them ([`super::shadow`]), so a store to
//! one byte of it and a load of another are accesses to one address for explorer and monitor. Which values threads see is
//! right all the same. But a memory model keeps a thread's accesses to one address in order, and not those to two: what
//! could overtake what is missed.
//!
//! Algorithm: when a thread accesses such a cell, look at what other threads have done to it, and are about to do. If one of them has
//! stored to it, then a load of bytes that the store does not write could overtake the store, unless a full barrier stands
//! between them; under PSO a store or an interlocked operation to other bytes could. Interlocked operations in between keep
//! them in order under TSO only. Findings are noted ([`Torn`]): the answer will not be "safe".
//!
//! Why it is enough to look when somebody else accesses the cell after the store: the pair matters only on a cycle, and the cycle
//! comes back to the store from another thread's access to its bytes. If that came before the store in all executions,
//! something would order them, and what overtakes the store as well. Otherwise it comes after the store in some
//! execution that is explored.
//!
//! Guarantees: no pair of accesses of one thread is taken to be in order without a note. Not proved: that the order which is assumed
//! between accesses of two threads to different bytes hides nothing; random programs have shown no case. Where it shows
//! too much, a cycle through accesses that have no byte in common, the explanation notices ([`overlap`]).
//!
//! Deviation: a machine decides this by bytes. Deciding it here would take steps on several cells at once.
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
    /// Only a model that reorders stores could tell.
    pub stores: bool,
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
        for (access, stored, stores) in found {
            if self.parts.torn.iter().all(|known| (known.site, known.stores) != (access.site, stores)) {
                let (from, to) = ends(access.part, whole.size);
                let place = location(whole.at as usize + usize::from(from));
                self.parts.torn.push(Torn { site: access.site, sizes: (stored, to - from), place, stores });
                self.grown = true;
            }
        }
    }
}

/// Whether this access could overtake a store of its thread to other bytes of the cell: the access, how many bytes the store
/// has, and whether it shows only if stores are reordered.
fn torn(slots: &[Slot], at: usize, whole: u8) -> Option<(Pending, u8, bool)> {
    let access = slots[at].pending;
    let (from, to) = ends(access.part, whole);
    let loads = access.kind == AccessKind::Load;
    let mut stores = !loads;
    let mut barrier = access.barrier;
    for Slot { pending: before, .. } in slots[..at].iter().rev() {
        if barrier == Barrier::Full || barrier == Barrier::Store && !loads {
            return None;
        }
        let (start, end) = ends(before.part, whole);
        let apart = if loads { from < start || to > end } else { to <= start || from >= end };
        if before.kind == AccessKind::Store && before.cell == access.cell && apart {
            return Some((access, end - start, stores));
        }
        stores |= before.kind == AccessKind::Rmw;
        barrier = before.barrier;
    }
    None
}
