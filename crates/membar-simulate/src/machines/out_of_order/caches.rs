//! The memory of the machine: for each core a cache of a few lines, kept coherent.
//!
//! Problem: let accesses take different times, as those of a core with a cache do, on a memory that still has one order.
//!
//! Algorithm: a core asks for a line, to read or to write it, and has it some turns later. The request is served at one point: to read, the owner's
//! data go to memory and it owns the line no longer; to write, all other copies disappear. A full cache first evicts a line at random,
//! which is written back if it was modified.
//!
//! Invariants (without bugs): a line that one core owns no other has; every copy of a line that nobody owns is what memory holds. So what
//! a core finds in its cache is what was written last, and the order of performing is one of memory.
//!
//! Complexity: a step looks at all copies of a line, of which each core has one at most.

use super::super::{Bug, Setup};
use crate::{Program, Rng};

/// Bytes of a line, and its cells.
const LINE: u64 = 64;
const CELLS: usize = 8;
/// Lines that a cache holds, and requests of a core that are on their way, at most.
const LINES: usize = 4;
const REQUESTS: usize = 4;
/// Where one of these bugs can happen, it happens once in this many times.
const SELDOM: u32 = 4;

#[derive(Clone, Copy)]
struct Copy {
    line: u64,
    owned: bool,
    cells: [u64; CELLS],
}

#[derive(Default)]
struct Cache {
    copies: Vec<Copy>,
    /// Lines that are on their way, and whether to write.
    requests: Vec<(u64, bool)>,
}

impl Cache {
    fn find(&self, line: u64) -> Option<&Copy> {
        self.copies.iter().find(|copy| copy.line == line)
    }
}

pub(super) struct Caches {
    setup: Setup,
    stride: u64,
    /// Memory, by address.
    memory: Vec<u64>,
    caches: Vec<Cache>,
    rng: Rng,
}

impl Caches {
    pub fn new(program: &Program, setup: Setup, seed: u64) -> Caches {
        Caches {
            setup,
            stride: program.stride.into(),
            memory: program.initial.clone(),
            caches: (0..program.threads()).map(|_| Cache::default()).collect(),
            rng: Rng::stream(seed, 0x53),
        }
    }

    /// The line of an address, and its cell in it.
    fn place(&self, addr: u32) -> (u64, usize) {
        let offset = u64::from(addr) * self.stride;
        (offset / LINE, (offset % LINE / 8) as usize)
    }

    /// Does the core have what an access of this address needs?
    pub fn has(&self, core: usize, addr: u32, writes: bool) -> bool {
        self.caches[core].find(self.place(addr).0).is_some_and(|copy| copy.owned || !writes)
    }

    /// Asks for it, unless that has been done.
    pub fn request(&mut self, core: usize, addr: u32, writes: bool) {
        let line = self.place(addr).0;
        let requests = &mut self.caches[core].requests;
        if let Some(request) = requests.iter_mut().find(|request| request.0 == line) {
            request.1 |= writes;
        } else if requests.len() < REQUESTS {
            requests.push((line, writes));
        }
    }

    /// Serves one request of the core, if there is any. The line that it evicts for that, if it does.
    pub fn serve(&mut self, core: usize) -> Option<Option<u64>> {
        let count = self.caches[core].requests.len() as u32;
        if count == 0 {
            return None;
        }
        let at = self.rng.below(count) as usize;
        let (line, writes) = self.caches[core].requests.swap_remove(at);
        Some(self.bring(core, line, writes))
    }

    /// Is this address in that line?
    pub fn is_in(&self, addr: u32, line: u64) -> bool {
        self.place(addr).0 == line
    }

    /// The cell of an address, which the core has.
    pub fn read(&self, core: usize, addr: u32) -> u64 {
        let (line, cell) = self.place(addr);
        self.caches[core].find(line).map_or(self.memory[addr as usize], |copy| copy.cells[cell])
    }

    /// Writes the cell of an address. The core owns its line, unless a bug took it away.
    pub fn write(&mut self, core: usize, addr: u32, value: u64) {
        let (line, cell) = self.place(addr);
        if !self.has(core, addr, true) {
            self.bring(core, line, true);
        }
        if let Some(copy) = self.caches[core].copies.iter_mut().find(|copy| copy.line == line) {
            copy.cells[cell] = value;
        }
    }

    /// What memory holds once all caches are empty.
    pub fn finish(mut self) -> Vec<u64> {
        for core in 0..self.caches.len() {
            for copy in std::mem::take(&mut self.caches[core].copies) {
                self.write_back(copy);
            }
        }
        self.memory
    }

    /// Gives a core a line. The line that had to go, if one had to.
    fn bring(&mut self, core: usize, line: u64, writes: bool) -> Option<u64> {
        for other in (0..self.caches.len()).filter(|&other| other != core) {
            self.take(other, line, writes);
        }
        if let Some(at) = self.caches[core].copies.iter().position(|copy| copy.line == line) {
            if self.caches[core].copies[at].owned {
                return None;
            }
            // It may be old, where an invalidation was lost.
            self.caches[core].copies.swap_remove(at);
        }
        let evicted = (self.caches[core].copies.len() >= LINES).then(|| self.evict(core));
        let mut copy = Copy { line, owned: writes, cells: [0; CELLS] };
        for (addr, cell) in self.cells(line) {
            copy.cells[cell] = self.memory[addr];
        }
        self.caches[core].copies.push(copy);
        evicted
    }

    /// Takes a line, or only its ownership, from a core.
    fn take(&mut self, core: usize, line: u64, all: bool) {
        let Some(at) = self.caches[core].copies.iter().position(|copy| copy.line == line) else { return };
        let copy = self.caches[core].copies[at];
        self.write_back(copy);
        let lost = self.setup.has(Bug::LostInvalidation) && self.rng.chance(1, SELDOM);
        if all && !lost {
            self.caches[core].copies.swap_remove(at);
        } else {
            self.caches[core].copies[at].owned = false;
        }
    }

    fn evict(&mut self, core: usize) -> u64 {
        let count = self.caches[core].copies.len() as u32;
        let at = self.rng.below(count) as usize;
        let copy = self.caches[core].copies.swap_remove(at);
        if !(self.setup.has(Bug::DroppedDirty) && self.rng.chance(1, SELDOM)) {
            self.write_back(copy);
        }
        copy.line
    }

    /// An owned line goes to memory.
    fn write_back(&mut self, copy: Copy) {
        if copy.owned {
            for (addr, cell) in self.cells(copy.line) {
                self.memory[addr] = copy.cells[cell];
            }
        }
    }

    /// The addresses in a line, with their cells.
    fn cells(&self, line: u64) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (stride, begin) = (self.stride, line * LINE);
        let first = begin.div_ceil(stride);
        let last = (begin + LINE).div_ceil(stride).min(self.memory.len() as u64);
        (first..last).map(move |addr| (addr as usize, ((addr * stride - begin) / 8) as usize))
    }
}
