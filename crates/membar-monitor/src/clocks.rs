//! Happens-before on an SC interleaving, by vector clocks.
//!
//! # Problem
//! hb is the transitive closure of program order, conflict order (two accesses of one address, at least one a write, in
//! the order of the interleaving), and the order that thread start and join give. After each event: which writes happen
//! before the last event of a thread?
//!
//! # Algorithm
//! 1. A clock has one entry per thread. Entry q of a clock is the number of q's writes that it covers; the writes of a
//!    thread are ordered, so the k-th of q's is covered iff entry q ≥ k. Nobody asks about reads, so only writes count.
//! 2. Each thread has a clock, each address one of its last write and the join of those of the reads since.
//! 3. A load joins the last write's clock into its thread's, and the result into that of the reads.
//! 4. A write joins the reads' clock (or the last write's, if there were no reads) into its thread's, counts itself, and
//!    leaves the result as the last write's clock; there are no reads since.
//! 5. `start` joins the parent's clock into the child's, `join` the child's into the parent's.
//!
//! # Invariants
//! The reads' clock covers the last write, since each read did. `now[p][p]` is the number of writes of p. If a clock covers
//! the k-th write of q then it covers all that this write's clock covers: clocks are only ever passed on whole. Hence a
//! thread that covers the last write of an address need not join its clock (the epoch test of FastTrack).
//!
//! # Complexity
//! O(P) an event in the worst case, O(1) for a load of what the thread has seen; O(P·(P + A)) memory, whatever the length.
//!
//! # Guarantees
//! Exact as long as no thread has written 2³² − 1 times; [`Clocks::exhausted`] tells 2²⁰ writes before that.
//!
//! # References
//! Flanagan and Godefroid, POPL 2005 (clocks for hb); Flanagan and Freund, PLDI 2009 (epochs).

use crate::event::{Event, Op, Write};
use crate::undo::{Rows, Values, put_back};

/// Rows have a multiple of this many entries, so that joins are whole vector instructions.
const LANES: usize = 4;
const THREAD: u32 = 0;
const WRITE: u32 = 1;
const READS: u32 = 2;

/// Maximum, entry by entry.
#[inline]
pub(crate) fn join(into: &mut [u32], from: &[u32]) {
    let (into, from) = (into.as_chunks_mut::<LANES>().0, from.as_chunks::<LANES>().0);
    for (into, from) in into.iter_mut().zip(from) {
        for (into, &from) in into.iter_mut().zip(from) {
            *into = (*into).max(from);
        }
    }
}

/// Rows of a table become longer; new entries are zero.
pub(crate) fn widen(table: &mut Vec<u32>, from: usize, to: usize) {
    let mut wide = vec![0; table.len() / from * to];
    for (wide, row) in wide.chunks_exact_mut(to).zip(table.chunks_exact(from)) {
        wide[..from].copy_from_slice(row);
    }
    *table = wide;
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    last: Write,
    /// Were there reads since?
    read: bool,
}

/// The clocks of all threads and addresses; see the [module](self).
#[derive(Clone, Debug)]
pub struct Clocks {
    stride: usize,
    threads: usize,
    /// One row per thread.
    now: Vec<u32>,
    /// One row per address: of its last write, and of the reads since. The latter means nothing where `read` is not set.
    written: Vec<u32>,
    reads: Vec<u32>,
    cells: Vec<Cell>,
    /// The last event of each thread that was no barrier, or what started it.
    prev: Vec<Option<Event>>,
    exhausted: bool,
    rows: Rows,
    old_cells: Values<Cell>,
    old_prev: Values<Option<Event>>,
}

/// A point to come back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize, usize, usize);

impl Default for Clocks {
    fn default() -> Self {
        Clocks {
            stride: LANES,
            threads: 0,
            now: Vec::new(),
            written: Vec::new(),
            reads: Vec::new(),
            cells: Vec::new(),
            prev: Vec::new(),
            exhausted: false,
            rows: Rows::default(),
            old_cells: Values::default(),
            old_prev: Values::default(),
        }
    }
}

impl Clocks {
    /// Entries of a row.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Threads seen.
    #[inline]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Addresses seen.
    #[inline]
    pub fn addresses(&self) -> usize {
        self.cells.len()
    }

    /// The clock of a thread.
    #[inline]
    pub fn now(&self, thread: u32) -> &[u32] {
        &self.now[thread as usize * self.stride..][..self.stride]
    }

    /// How many times the thread has written.
    #[inline]
    pub fn writes(&self, thread: u32) -> u32 {
        self.now[thread as usize * self.stride + thread as usize]
    }

    /// The last write of an address; its number is 0 if there is none.
    #[inline]
    pub fn last(&self, addr: u32) -> Write {
        self.cells[addr as usize].last
    }

    /// Does the write happen before the last event of the thread, or is it that event?
    #[inline]
    pub fn covers(&self, thread: u32, write: &Write) -> bool {
        self.now[thread as usize * self.stride + write.thread as usize] >= write.number
    }

    /// The last event of the thread that was no barrier; for one that has only been started, what started it.
    pub fn prev(&self, thread: u32) -> Option<Event> {
        self.prev[thread as usize]
    }

    /// Has a thread written so often that its entry will soon be too small? Then it is time to stop.
    #[inline]
    pub fn exhausted(&self) -> bool {
        self.exhausted
    }

    /// All clocks that a later clock can be joined from.
    pub(crate) fn live(&self) -> impl Iterator<Item = &[u32]> {
        let read = self.reads.chunks_exact(self.stride).zip(&self.cells).filter(|(_, cell)| cell.read);
        self.now
            .chunks_exact(self.stride)
            .take(self.threads)
            .chain(self.written.chunks_exact(self.stride))
            .chain(read.map(|(row, _)| row))
    }

    /// Makes room for the threads and the address of the event. Returns whether anything had to be made.
    #[inline]
    pub(crate) fn fit(&mut self, event: &Event) -> bool {
        let thread = match event.op {
            Op::Start { child } | Op::Join { child } => event.thread.max(child),
            _ => event.thread,
        };
        let address = event.op.addr().map_or(0, |addr| addr as usize + 1);
        let fits = (thread as usize) < self.threads && address <= self.cells.len();
        if !fits {
            self.grow((thread as usize + 1).max(self.threads), address.max(self.cells.len()));
        }
        !fits
    }

    #[cold]
    fn grow(&mut self, threads: usize, addresses: usize) {
        if threads > self.stride {
            let stride = threads.next_power_of_two();
            for table in [&mut self.now, &mut self.written, &mut self.reads] {
                widen(table, self.stride, stride);
            }
            self.stride = stride;
        }
        self.threads = threads;
        self.now.resize(threads * self.stride, 0);
        self.prev.resize(threads, None);
        self.written.resize(addresses * self.stride, 0);
        self.reads.resize(addresses * self.stride, 0);
        self.cells.resize(addresses, Cell::default());
    }

    /// Takes the next event, for which there is room.
    #[inline]
    pub(crate) fn event(&mut self, event: &Event) {
        let (p, stride) = (event.thread as usize, self.stride);
        match event.op {
            Op::Load { addr } | Op::Interlocked { addr, writes: false } => {
                let a = addr as usize;
                self.save_thread(p);
                let cell = &mut self.cells[a];
                let now = &mut self.now[p * stride..][..stride];
                if now[cell.last.thread as usize] < cell.last.number {
                    join(now, &self.written[a * stride..][..stride]);
                }
                let reads = &mut self.reads[a * stride..][..stride];
                self.rows.save(READS, a, reads);
                self.old_cells.save(addr, *cell);
                if cell.read {
                    join(reads, now);
                } else {
                    reads.copy_from_slice(now);
                    cell.read = true;
                }
            }
            Op::Store { addr } | Op::Interlocked { addr, writes: true } => {
                let a = addr as usize;
                self.save_thread(p);
                let cell = &mut self.cells[a];
                let now = &mut self.now[p * stride..][..stride];
                let written = &mut self.written[a * stride..][..stride];
                self.rows.save(WRITE, a, written);
                self.old_cells.save(addr, *cell);
                if cell.read {
                    self.rows.save(READS, a, &self.reads[a * stride..][..stride]);
                    join(now, &self.reads[a * stride..][..stride]);
                } else if now[cell.last.thread as usize] < cell.last.number {
                    join(now, written);
                }
                now[p] = now[p].saturating_add(1);
                self.exhausted |= now[p] > u32::MAX - (1 << 20);
                written.copy_from_slice(now);
                let last = Write { thread: event.thread, number: now[p], site: event.site, at: event.at };
                *cell = Cell { last, read: false };
            }
            Op::Fence | Op::StoreBarrier => return,
            Op::Start { child } => {
                self.pass_on(p, child as usize);
                self.old_prev.save(child, self.prev[child as usize]);
                self.prev[child as usize] = Some(*event);
            }
            Op::Join { child } => self.pass_on(child as usize, p),
        }
        self.old_prev.save(event.thread, self.prev[p]);
        self.prev[p] = Some(*event);
    }

    #[inline]
    fn save_thread(&mut self, p: usize) {
        self.rows.save(THREAD, p, &self.now[p * self.stride..][..self.stride]);
    }

    fn pass_on(&mut self, from: usize, into: usize) {
        self.save_thread(into);
        for k in 0..self.stride {
            let entry = self.now[from * self.stride + k];
            let into = &mut self.now[into * self.stride + k];
            *into = (*into).max(entry);
        }
    }

    pub(crate) fn record(&mut self, on: bool) {
        (self.rows.on, self.old_cells.on, self.old_prev.on) = (on, on, on);
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.rows.mark(), self.old_cells.mark(), self.old_prev.mark())
    }

    pub(crate) fn rewind(&mut self, mark: Mark) {
        let Clocks { stride, now, written, reads, .. } = self;
        self.rows.rewind(mark.0, |table, index, row| match table {
            THREAD => put_back(now, *stride, index, row),
            WRITE => put_back(written, *stride, index, row),
            _ => put_back(reads, *stride, index, row),
        });
        self.old_cells.rewind(mark.1, |addr, cell| self.cells[addr as usize] = cell);
        self.old_prev.rewind(mark.2, |thread, prev| self.prev[thread as usize] = prev);
    }

    /// Words of memory held for clocks, what undoing needs left out.
    pub fn words(&self) -> usize {
        self.now.len() + self.written.len() + self.reads.len()
    }
}
