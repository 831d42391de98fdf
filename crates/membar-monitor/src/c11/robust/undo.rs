//! The sets as they were before each access, to take accesses back.
//!
//! Sets of one word are copied. Larger ones are kept without the words at their end that are 0: an execution of many writes has
//! long sets, most of them nearly empty.

use super::sets::{Cell, Thread};

/// An access, and the sets before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo<const W: usize> {
    pub(super) thread: u32,
    pub(super) addr: u32,
    pub(super) writes: bool,
    pub(super) thread_sets: Thread<W>,
    pub(super) cell: Cell<W>,
}

/// The same for sets of more than one word: without the words at the end that are 0, so whatever their size.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    /// Set by set.
    words: Vec<u64>,
    /// How many words of each set are kept.
    lengths: Vec<u16>,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) thread: u32,
    pub(super) addr: u32,
    pub(super) writes: bool,
    /// [`Thread::addr`] and [`Cell::last`].
    thread_addr: u32,
    last: u32,
    /// Where its words begin.
    words: usize,
}

/// How many sets a thread and an address have.
const SETS: usize = 48;

impl Packed {
    pub(super) fn push<const W: usize>(&mut self, undo: &Undo<W>) {
        let &Undo { thread, addr, writes, ref thread_sets, ref cell } = undo;
        let words = self.words.len();
        self.entries.push(Entry { thread, addr, writes, thread_addr: thread_sets.addr, last: cell.last, words });
        let mut keep = |set: &[u64]| {
            let length = set.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
            self.words.extend_from_slice(&set[..length]);
            self.lengths.push(length as u16);
        };
        thread_sets.each(&mut keep);
        cell.each(&mut keep);
    }

    pub(super) fn pop<const W: usize>(&mut self, threads: &mut [Thread<W>], addrs: &mut [Cell<W>]) -> Option<Entry> {
        let entry = self.entries.pop()?;
        let (thread, cell) = (&mut threads[entry.thread as usize], &mut addrs[entry.addr as usize]);
        (thread.addr, cell.last) = (entry.thread_addr, entry.last);
        let first = self.lengths.len() - SETS;
        let (mut words, mut lengths) = (&self.words[entry.words..], self.lengths[first..].iter());
        let mut restore = |set: &mut [u64]| {
            let (kept, rest) = words.split_at(usize::from(lengths.next().copied().unwrap_or(0)));
            set[..kept.len()].copy_from_slice(kept);
            set[kept.len()..].fill(0);
            words = rest;
        };
        thread.each_mut(&mut restore);
        cell.each_mut(&mut restore);
        self.words.truncate(entry.words);
        self.lengths.truncate(first);
        Some(entry)
    }
}
