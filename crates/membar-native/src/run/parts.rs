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
//! Executions of TSO and PSO are those of a machine with bytes (`membar-explore/src/buffers/`). For C11 alone and for its graphs, plain accesses are taken apart instead ([`super::shadow`]), and a plain read of some bytes counts as
//! one of the whole cell as long as all writes and all atomic accesses are to whole cells: then it conflicts with the same accesses.
//!
//! Guarantees: those of the monitors. Values of more than 8 bytes are numbers that stand for them; the program puts them together
//! ([`World::merge`]) and takes them apart ([`World::shown`]). What a compare-and-swap of 16 bytes finds is not known to the monitor, which tries both; if
//! what it reports then is not confirmed, the answer is undecided.

use super::world::World;

/// Everything known about parts of cells.
#[derive(Debug, Default)]
pub struct Parts {
    /// Some cell is accessed in parts.
    pub any: bool,
}

impl World {
    /// The bytes of a plain access to a part of a cell.
    #[cold]
    pub fn plain_part(&mut self, cell: u32, addr: usize, size: usize, write: bool) -> u8 {
        let whole = self.shadow.tears && !self.parts.any && !write;
        if whole { 0 } else { self.part(cell, addr, size) }
    }

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
