//! The program's heap.
//!
//! Each thread allocates from its own region, one block after the other, and nothing is used again within an
//! execution: what `malloc` returns depends on nothing but what the thread did before, and a block that has been freed is
//! known as such for good. One byte for every 16 says what they are: see [`Life`]. New blocks are filled with 0xBE, so that
//! what is read before it is written is neither what another execution left there nor a lucky zero.
//!
//! A block is preceded by a header of 32 bytes: its size, the place it was allocated at, and what has become of it.

use super::layout::{HEAP_SIZE, HEAPS, LIFE, MAX_THREADS};

/// The state of 16 bytes of a heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Life {
    /// Not allocated yet, or between blocks.
    Nothing = 0,
    /// In a block.
    Live = 1,
    /// In a block that was freed.
    Freed = 2,
    /// In a mapping, and taken out of it again; may only be read; may not be accessed at all.
    Unmapped = 3,
    ReadOnly = 4,
    NoAccess = 5,
    /// In a block that ends here: this many of the 16 bytes are in it.
    Part = 16,
}

/// The header before a block.
#[repr(C)]
struct Header {
    size: usize,
    /// Return address of the allocation.
    pc: usize,
    /// Return address of its caller, for wrappers such as `operator new`.
    caller: usize,
    /// Which block of its thread it is, and whether it is alive.
    number: u32,
    magic: u32,
}

const ALIVE: u32 = 0x6d62_6172;
/// The same of a mapping.
const MAPPED: u32 = 0x6d61_7070;
const DEAD: u32 = 0x6465_6164;
const HEADER: usize = 32;
const PAGE: usize = 4096;

/// A block, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub start: usize,
    pub size: usize,
    pub pc: usize,
    pub caller: usize,
    pub thread: usize,
    pub number: u32,
    pub alive: bool,
    /// It is a mapping that is alive.
    pub mapped: bool,
}

/// The thread that freed a block, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    start: usize,
    pub thread: usize,
    /// Return address of the call, and that of its caller.
    pub pc: usize,
    pub caller: usize,
}

/// Why a pointer cannot be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadFree {
    /// It does not point to the beginning of a block.
    NoBlock,
}

/// The regions.
#[derive(Debug)]
pub struct Heap {
    /// Per thread the next free address and the number of blocks.
    next: Vec<(usize, u32)>,
    /// Per thread where an execution begins.
    first: Vec<(usize, u32)>,
    /// Blocks from before then that have been freed.
    freed: Vec<Block>,
    /// The freed blocks, in order.
    released: Vec<Release>,
    /// How many of these are from before then.
    first_released: usize,
    /// What was there before a part of a mapping was made something else, by address, in order; since the execution began.
    changed: Vec<(usize, Box<[u8]>)>,
    /// Something of that has happened, in whatever execution.
    changes: bool,
    /// Bytes that an execution may allocate.
    pub limit: usize,
    pub used: usize,
}

/// How far allocation had come.
#[derive(Debug, Default)]
pub struct Saved {
    next: Vec<(usize, u32)>,
    freed: usize,
    changed: usize,
    released: usize,
    used: usize,
}

const fn region(thread: usize) -> usize {
    HEAPS + thread * HEAP_SIZE
}

/// The heap, if the address is on one.
#[inline(always)]
pub fn is_heap(addr: usize) -> bool {
    addr.wrapping_sub(HEAPS) < MAX_THREADS * HEAP_SIZE
}

/// The state of an address of the heap.
#[inline(always)]
pub fn life(addr: usize) -> u8 {
    // SAFETY: mapped for the whole of the heaps.
    unsafe { *((LIFE + (addr - HEAPS) / 16) as *const u8) }
}

fn set_life(from: usize, to: usize, life: Life) {
    let (a, b) = ((from - HEAPS) / 16, (to - HEAPS).div_ceil(16));
    // SAFETY: mapped for the whole of the heaps.
    unsafe { std::ptr::write_bytes((LIFE + a) as *mut u8, life as u8, b - a) };
}

/// A block of this size begins here.
fn set_live(start: usize, size: usize) {
    let end = start + size.max(1);
    set_life(start, end, Life::Live);
    if !size.is_multiple_of(16) || size == 0 {
        // SAFETY: as above.
        unsafe { *((LIFE + (end - 1 - HEAPS) / 16) as *mut u8) = Life::Part as u8 + (size % 16) as u8 };
    }
}

/// Whether bytes that are not in the middle of a block are in one all the same: at its end. They do not go beyond 16.
pub fn is_end(addr: usize, size: usize) -> bool {
    let life = usize::from(life(addr));
    life >= Life::Part as usize && addr % 16 + size <= life - Life::Part as usize
}

impl Heap {
    /// Empty, for executions that may allocate this much.
    pub fn new(limit: usize) -> Heap {
        let first: Vec<(usize, u32)> = (0..MAX_THREADS).map(|thread| (region(thread), 0)).collect();
        Heap {
            next: first.clone(),
            first,
            freed: Vec::new(),
            released: Vec::new(),
            first_released: 0,
            changed: Vec::new(),
            changes: false,
            limit,
            used: 0,
        }
    }

    /// A block of this size; `None` if there is no room.
    pub fn allocate(&mut self, thread: usize, size: usize, align: usize, pc: usize, caller: usize) -> Option<usize> {
        let (next, number) = &mut self.next[thread];
        let align = align.max(16);
        let start = next.checked_add(HEADER)?.checked_next_multiple_of(align)?;
        let end = start.checked_add(size.max(1))?.checked_next_multiple_of(16)?;
        if end + PAGE > region(thread) + HEAP_SIZE || self.used + size > self.limit {
            return None;
        }
        self.used += size;
        *number += 1;
        // SAFETY: within the thread's region, which is mapped; nobody uses it yet.
        unsafe {
            ((start - HEADER) as *mut Header).write(Header { size, pc, caller, number: *number, magic: ALIVE });
            std::ptr::write_bytes(start as *mut u8, 0xbe, end - start);
        }
        set_live(start, size);
        *next = end;
        Some(start)
    }

    /// The new block that begins here is a mapping.
    pub fn map(&mut self, start: usize) {
        // SAFETY: it has just been allocated.
        unsafe { (*((start - HEADER) as *mut Header)).magic = MAPPED };
    }

    /// The block that begins here.
    pub fn block(&self, start: usize) -> Result<Block, BadFree> {
        if !is_heap(start) || !start.is_multiple_of(16) {
            return Err(BadFree::NoBlock);
        }
        let thread = (start - HEAPS) / HEAP_SIZE;
        if start < region(thread) + HEADER || start >= self.next[thread].0 {
            return Err(BadFree::NoBlock);
        }
        // SAFETY: within the region, behind at least one header.
        let header = unsafe { &*((start - HEADER) as *const Header) };
        match header.magic {
            ALIVE | MAPPED | DEAD if life(start) != Life::Nothing as u8 => {
                let Header { size, pc, caller, number, magic } = *header;
                let (alive, mapped) = (magic != DEAD, magic == MAPPED);
                Ok(Block { start, size, pc, caller, thread, number, alive, mapped })
            }
            _ => Err(BadFree::NoBlock),
        }
    }

    /// The block that the address is in.
    pub fn find(&self, addr: usize) -> Option<Block> {
        if !is_heap(addr) || life(addr) == Life::Nothing as u8 {
            return None;
        }
        let mut at = addr & !15;
        let lowest = region((addr - HEAPS) / HEAP_SIZE);
        while at > lowest {
            if let Ok(block) = self.block(at)
                && addr < block.start + block.size.max(1).next_multiple_of(16)
            {
                return Some(block);
            }
            at -= 16;
        }
        None
    }

    /// The release of the block.
    pub fn release(&self, block: &Block) -> Option<Release> {
        self.released.iter().rev().find(|release| release.start == block.start).copied()
    }

    /// Frees a block that is alive. `thread`, `pc` and `caller` are for reports.
    pub fn free(&mut self, block: &Block, thread: usize, pc: usize, caller: usize) {
        self.released.push(Release { start: block.start, thread, pc, caller });
        // SAFETY: `block` was found by its header.
        unsafe { (*((block.start - HEADER) as *mut Header)).magic = DEAD };
        let end = block.start + block.size.max(1);
        if self.changes {
            self.change(block.start, end, Life::Freed);
            return;
        }
        set_life(block.start, end, Life::Freed);
        if block.start < self.first[block.thread].0 {
            self.freed.push(*block);
        }
    }

    /// Makes whole pages of a block, or all of it, something else.
    pub fn change(&mut self, from: usize, to: usize, life: Life) {
        self.changes = true;
        let (a, b) = ((from - HEAPS) / 16, (to - HEAPS).div_ceil(16));
        // SAFETY: mapped for the whole of the heaps.
        let before = unsafe { std::slice::from_raw_parts((LIFE + a) as *const u8, b - a) };
        self.changed.push((LIFE + a, before.into()));
        set_life(from, to, life);
    }

    /// Takes back all such changes but the first ones.
    fn change_back(&mut self, kept: usize) {
        for (at, before) in self.changed.drain(kept..).rev() {
            // SAFETY: it was read from there.
            unsafe { std::ptr::copy_nonoverlapping(before.as_ptr(), at as *mut u8, before.len()) };
        }
    }

    /// Makes the current state the one that executions begin with. Its ranges of addresses, for somebody to restore.
    pub fn keep(&mut self) -> Vec<(usize, usize)> {
        self.used = 0;
        let mut ranges = Vec::new();
        for thread in 0..MAX_THREADS {
            let (from, next) = (region(thread), &mut self.next[thread].0);
            if from < *next {
                ranges.push((from, *next));
                // Later allocations are on other pages.
                *next = next.next_multiple_of(PAGE);
            }
        }
        self.first.clone_from(&self.next);
        self.first_released = self.released.len();
        self.changed.clear();
        ranges
    }

    /// The memory that a thread has allocated since the beginning of the execution, as a range of addresses.
    pub fn extent(&self, thread: usize) -> (usize, usize) {
        (self.first[thread].0, self.next[thread].0)
    }

    /// The bytes that have been allocated since the beginning of the execution by this many threads.
    pub fn bytes(&self, threads: usize) -> usize {
        (0..threads).map(|thread| self.next[thread].0 - self.first[thread].0).sum()
    }

    /// The memory of these, and what is known of its life, as addresses and lengths.
    pub fn ranges(&self, threads: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..threads).flat_map(|thread| {
            let (first, next) = (self.first[thread].0, self.next[thread].0);
            let (a, b) = ((first - HEAPS) / 16, (next - HEAPS).div_ceil(16));
            [(first, next - first), (LIFE + a, b - a)]
        })
    }

    /// Keeps what is not in that memory.
    pub fn save(&self, threads: usize, saved: &mut Saved) {
        saved.next.clear();
        saved.next.extend_from_slice(&self.next[..threads]);
        (saved.freed, saved.released, saved.used) = (self.freed.len(), self.released.len(), self.used);
        saved.changed = self.changed.len();
    }

    /// Goes back to an earlier state of the same execution, but for that memory.
    pub fn put_back(&mut self, saved: &Saved) {
        self.change_back(saved.changed);
        for (next, &kept) in self.next.iter_mut().zip(&saved.next) {
            if next.0 > kept.0 {
                set_life(kept.0, next.0, Life::Nothing);
            }
            *next = kept;
        }
        self.released.truncate(saved.released);
        for block in self.freed.drain(saved.freed..) {
            set_live(block.start, block.size);
        }
        self.used = saved.used;
    }

    /// Back to what was kept.
    #[inline]
    pub fn reset(&mut self, threads: usize) {
        self.used = 0;
        self.change_back(0);
        for thread in 0..threads {
            let (first, next) = (self.first[thread].0, self.next[thread].0);
            if next > first {
                set_life(first, next, Life::Nothing);
                self.next[thread] = self.first[thread];
            }
        }
        self.released.truncate(self.first_released);
        for block in self.freed.drain(..) {
            set_live(block.start, block.size);
        }
    }
}
