//! Memory that several threads write: page aligned, zero at first, and touched only when used.
#![allow(unsafe_code)]

use crate::Error;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::atomic::AtomicU64;

/// The alignment of buffers.
pub(crate) const PAGE: usize = 4096;
/// The unit that caches exchange.
pub(crate) const LINE: usize = 64;

/// Whole pages of 64-bit words, zero at first.
///
/// All threads access it through atomics, or through generated code, which the compiler knows nothing about and which accesses only
/// aligned words. Pages that nobody touches cost nothing: the allocator gets large blocks from the system, which are zero already.
#[derive(Debug)]
pub(crate) struct Memory {
    block: *mut u8,
    layout: Layout,
    /// The first page boundary of the block.
    base: *mut u8,
    bytes: usize,
}

// SAFETY: all safe access goes through atomics.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// At least this many bytes.
    pub fn new(bytes: usize) -> Result<Memory, Error> {
        let too_much = || Error::Memory(bytes);
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE).ok_or_else(too_much)?;
        // Aligned by hand: an allocator that is asked for aligned memory clears it itself, touching every page.
        let layout = Layout::from_size_align(bytes.checked_add(PAGE).ok_or_else(too_much)?, 16);
        let layout = layout.map_err(|_| too_much())?;
        // SAFETY: the layout's size is not zero.
        let block = unsafe { alloc_zeroed(layout) };
        if block.is_null() {
            return Err(too_much());
        }
        let skip = block.align_offset(PAGE);
        debug_assert!(skip < PAGE);
        // SAFETY: the block has a page more than `bytes`, and less than a page is skipped.
        let base = unsafe { block.add(skip) };
        Ok(Memory { block, layout, base, bytes })
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All of its words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: `base` is aligned to a page and `bytes` bytes from it are ours as long as `self` lives; every bit pattern is a
        // word, and atomics may be shared.
        unsafe { std::slice::from_raw_parts(self.base.cast::<AtomicU64>(), self.bytes / 8) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.block, self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn is_zero_aligned_and_large_enough() {
        for bytes in [0, 1, 4095, 4096, 100_000] {
            let memory = Memory::new(bytes).unwrap();
            assert!(memory.bytes() >= bytes && memory.base.addr().is_multiple_of(PAGE));
            assert!(memory.words().iter().all(|word| word.load(Relaxed) == 0));
            memory.words().last().unwrap().store(7, Relaxed);
        }
        assert!(matches!(Memory::new(usize::MAX - 5), Err(Error::Memory(_))));
    }
}
