//! Accesses to parts of a cell.
//!
//! Problem: where atomic accesses of different sizes overlap, the cell is the whole of them ([`super::shadow`]), so a store to
//! one byte of it and a load of another are accesses to one address for the explorer. Which values threads see is right all
//! the same, and there are no fewer classes than by bytes. But a memory model keeps a thread's accesses to one address in
//! order, and not those to two.
//!
//! Algorithm: that some cell is accessed in parts is a fact ([`super::Facts::parts`]), with which exploration begins again; from then on
//! executions are monitored by bytes (`membar-monitor/src/bytes.rs`, `c11/mixed.rs`), and explained and confirmed by bytes.
//!
//! Guarantees: those of the monitors. Values of more than 8 bytes are numbers that stand for them, so violations that need a part of such a
//! value are not confirmed, and the answer is undecided.

use super::world::World;

/// Everything known about parts of cells.
#[derive(Debug, Default)]
pub struct Parts {
    /// Some cell is accessed in parts.
    pub any: bool,
}

impl World {
    /// The bytes of an access to a part of a cell, as [`super::slot::Pending::part`] has them.
    #[cold]
    pub fn part(&mut self, cell: u32, addr: usize, size: usize) -> u8 {
        self.grown |= !self.parts.any;
        self.parts.any = true;
        let whole = self.shadow.cells[cell as usize];
        let from = addr.saturating_sub(whole.at as usize);
        if size >= usize::from(whole.size) || from > 15 { 0 } else { (from << 4 | size) as u8 }
    }
}
