//! Accesses to parts of a cell, and what that hides.
//!
//! Problem: where atomic accesses of different sizes overlap, the cell is the whole of them ([`super::shadow`]), so a store to
//! one byte of it and a load of another are accesses to one address for explorer and monitor. Which values threads see is
//! right all the same. But a memory model keeps a thread's accesses to one address in order, and not those to two: what
//! could overtake what is missed.
//!
//! Algorithm: at an access to such a cell, go back through the thread's accesses to the last full barrier. A load of bytes that a
//! store to the cell does not write could overtake it, and under PSO a store or an interlocked operation to other bytes could.
//! Interlocked operations in between keep them in order under TSO only. What is found is noted ([`Torn`]): the answer will
//! not be "safe".
//!
//! Complexity: linear in the accesses since the last full barrier, of programs that have such cells.

use super::slot::Pending;
use super::trace::{Location, location};
use super::world::World;
use membar_core::{AccessKind, Barrier};
use serde::{Deserialize, Serialize};

/// Two accesses of one thread to different parts of a cell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Torn {
    /// The instruction of the second, as an offset in the object.
    pub site: u32,
    /// Bytes that the first one stores, and that the second accesses.
    pub sizes: (u8, u8),
    /// What the second accesses.
    pub place: Option<Location>,
    /// Only a model that reorders stores could tell.
    pub stores: bool,
}

/// What is known about parts of cells.
#[derive(Debug, Default)]
pub struct Parts {
    /// Some cell is accessed in parts.
    pub any: bool,
    pub torn: Vec<Torn>,
}

/// The bytes of an access within its cell of so many bytes.
fn bytes(pending: &Pending, whole: u8) -> (u8, u8) {
    match pending.part {
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

    /// The thread that runs makes an access in a program that accesses cells in parts.
    #[cold]
    pub fn look_for_torn(&mut self, access: &Pending) {
        let whole = self.shadow.cells[access.cell as usize];
        let (from, to) = bytes(access, whole.size);
        let loads = access.kind == AccessKind::Load;
        let mut stores = !loads;
        let (mut barrier, mut torn) = (access.barrier, None);
        for slot in self.threads[self.current].slots.iter().rev() {
            if barrier == Barrier::Full || barrier == Barrier::Store && !loads {
                break;
            }
            let before = &slot.pending;
            let (start, end) = bytes(before, whole.size);
            let apart = if loads { from < start || to > end } else { to <= start || from >= end };
            if before.kind == AccessKind::Store && before.cell == access.cell && apart {
                torn = Some(end - start);
                break;
            }
            stores |= before.kind == AccessKind::Rmw;
            barrier = before.barrier;
        }
        let Some(stored) = torn else { return };
        if self.parts.torn.iter().all(|known| (known.site, known.stores) != (access.site, stores)) {
            let (site, sizes) = (access.site, (stored, to - from));
            self.parts.torn.push(Torn { site, sizes, place: location(whole.at as usize + usize::from(from)), stores });
            self.grown = true;
        }
    }
}
