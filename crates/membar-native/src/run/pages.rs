//! Puts memory back to what it was.
//!
//! Memory that is small is copied back as a whole. Of larger memory only pages that the program has ever written are: pages
//! are read-only at first, and the first write to one makes it writable for good and puts it on the list. So code that
//! writes, instrumented or not, the cost of a reset is that of what the program changes.

use std::ffi::c_void;

const PAGE: usize = 4096;
/// Memory up to this size is copied back as a whole.
const SMALL: usize = 2 * PAGE;

/// Ranges of memory and what they held.
#[derive(Debug, Default)]
pub struct Pages {
    kept: Vec<(usize, Vec<u8>)>,
    /// Pieces of pages that are written: address, which range, length.
    dirty: Vec<(usize, usize, usize)>,
    watched: bool,
}

impl Pages {
    /// Keeps the current contents of these ranges, to restore them later.
    pub fn keep(ranges: impl Iterator<Item = (usize, usize)>) -> Pages {
        let mut pages = Pages::default();
        for (from, to) in ranges {
            // SAFETY: the program's writable memory.
            pages.kept.push((from, unsafe { std::slice::from_raw_parts(from as *const u8, to - from) }.to_vec()));
        }
        let pieces: Vec<(usize, usize, usize)> = (0..pages.kept.len()).flat_map(|i| pages.pieces(i)).collect();
        if pages.kept.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() <= SMALL {
            pages.dirty = pieces;
            return pages;
        }
        pages.watched = true;
        pages.dirty.reserve_exact(pieces.len());
        for (at, i, len) in pieces {
            // SAFETY: a write to these pages is caught by the handler, which calls `written`.
            let protected = unsafe { libc::mprotect((at & !(PAGE - 1)) as *mut c_void, PAGE, libc::PROT_READ) };
            if protected != 0 && !pages.dirty.iter().any(|piece| piece.0 == at) {
                // Then it is restored each time.
                pages.dirty.push((at, i, len));
            }
        }
        pages
    }

    /// The pieces of a range that are on different pages: address, which range, length.
    fn pieces(&self, i: usize) -> Vec<(usize, usize, usize)> {
        let (start, bytes) = &self.kept[i];
        let (mut at, end) = (*start, start + bytes.len());
        let mut pieces = Vec::new();
        while at < end {
            let next = ((at & !(PAGE - 1)) + PAGE).min(end);
            pieces.push((at, i, next - at));
            at = next;
        }
        pieces
    }

    /// Whether this is memory that is restored, or on the same page.
    pub fn has(&self, addr: usize) -> bool {
        let (page, next) = (addr & !(PAGE - 1), (addr & !(PAGE - 1)) + PAGE);
        self.kept.iter().any(|(start, bytes)| *start < next && page < start + bytes.len())
    }

    /// The program writes to this address. Whether it may now, and could not before. Called by the handler of a signal: there is
    /// room for every piece, so nothing is allocated.
    pub fn written(&mut self, addr: usize) -> bool {
        let page = addr & !(PAGE - 1);
        if !self.watched || self.dirty.iter().any(|&(at, ..)| at & !(PAGE - 1) == page) {
            return false;
        }
        let before = self.dirty.len();
        for (i, (start, bytes)) in self.kept.iter().enumerate() {
            let (from, to) = (page.max(*start), (page + PAGE).min(start + bytes.len()));
            if from < to && self.dirty.len() < self.dirty.capacity() {
                self.dirty.push((from, i, to - from));
            }
        }
        if self.dirty.len() == before {
            return false;
        }
        // SAFETY: a page that was made read-only above.
        unsafe { libc::mprotect(page as *mut c_void, PAGE, libc::PROT_READ | libc::PROT_WRITE) == 0 }
    }

    /// Puts everything back.
    #[inline]
    pub fn restore(&self) {
        self.restore_from(0);
    }

    /// Puts those pieces back that came after this many others.
    #[inline]
    pub fn restore_from(&self, first: usize) {
        for &(at, i, len) in &self.dirty[first..] {
            let (start, bytes) = &self.kept[i];
            // SAFETY: the piece is writable, and as long as that.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr().add(at - start), at as *mut u8, len) };
        }
    }

    /// How many pieces are written.
    pub fn pieces_written(&self) -> usize {
        self.dirty.len()
    }

    /// Those pieces, as addresses and lengths.
    pub fn ranges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.dirty.iter().map(|&(at, _, len)| (at, len))
    }

    /// Bytes that are restored for each execution.
    pub fn bytes(&self) -> usize {
        self.dirty.iter().map(|&(.., len)| len).sum()
    }
}
