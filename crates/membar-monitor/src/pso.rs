//! The monitor of Burnim, Sen and Stergiou for PSO.
//!
//! # Problem
//! As for [`tso`](crate::Tso), for the machine with one first-in first-out store buffer per thread *and address*.
//!
//! # Algorithm
//! As for TSO, with these differences:
//! 1. Committing a store commits those of its thread to the same address before it, and those that a store-store barrier
//!    puts before it.
//! 2. An interlocked operation empties its thread's buffer of its own address only, and waits for what a store-store barrier
//!    puts before it. A fence empties all buffers of its thread.
//!
//! # Invariants
//! At most one thread has pending stores to an address (lemma 2), and the last write of the address is the last of them. So
//! for each address it is enough to know whether its last write is pending: it is if `pending[a].number`, the number of
//! that write, is neither 0 nor covered by `committed[q]`, the number up to which all writes of its thread q are in memory
//! because of a fence or a barrier. `pending[a].before` is how many writes its thread had made before its last store-store
//! barrier: a commit raises `committed[q]` to that. The writes below `before` have `before`s of their own that are no
//! greater, so one step is enough.
//!
//! # Complexity
//! O(1) per event besides the O(P) of the clocks; two words a thread and two an address.
//!
//! # Guarantees
//! As for TSO: a report is right, and over all SC executions and prefixes nothing is missed (theorems 1 and 2).
//!
//! # Deviations from the paper
//! - The 2010 report commits a thread's pending store to an address when the thread stores there again, the 2011 paper does
//!   not. We do not: stores are committed as late as possible, which with barriers makes a difference.
//! - A fence is its own event. The papers model it as an interlocked operation, but under PSO that empties the buffer of
//!   one address only. Store-store barriers, thread start and join, and interlocked operations that do not write, are ours;
//!   the latter wait for barriers too, since the machine cannot know yet whether they will write.
//!
//! # References
//! As for TSO: figure 5 of the paper, figures 5 and 9 of the report.

use crate::clocks::Clocks;
use crate::event::{Event, Op, Write};
use crate::monitor::Rule;
use crate::undo::Undoable;

#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    number: u32,
    before: u32,
}

/// The store buffers of the PSO machine; see the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Pso {
    /// All writes of a thread up to this number are in memory.
    committed: Undoable<u32>,
    /// How many writes the thread had made before its last store-store barrier.
    barrier: Undoable<u32>,
    /// The last write of each address, if it was a store and nobody has made it commit.
    pending: Undoable<Pending>,
}

impl Pso {
    #[inline]
    fn commit(&mut self, addr: u32, thread: u32) {
        let before = self.pending.get(addr).before;
        self.pending.set(addr, Pending::default());
        self.committed.raise(thread, before);
    }
}

impl Rule for Pso {
    type Mark = (usize, usize, usize);

    fn fit(&mut self, clocks: &Clocks) {
        self.committed.fit(clocks.threads());
        self.barrier.fit(clocks.threads());
        self.pending.fit(clocks.addresses());
    }

    #[inline]
    fn event(&mut self, event: &Event, clocks: &Clocks) -> Option<Write> {
        let p = event.thread;
        let mut found = None;
        if let Some(addr) = event.op.addr() {
            let last = clocks.last(addr);
            let pending = self.pending.get(addr).number > self.committed.get(last.thread);
            if pending && last.thread != p {
                found = clocks.covers(p, &last).then_some(last);
                self.commit(addr, last.thread);
            } else if pending && matches!(event.op, Op::Interlocked { .. }) {
                self.commit(addr, p);
            }
        }
        match event.op {
            Op::Load { .. } => {}
            Op::Store { addr } => {
                let (number, before) = (clocks.writes(p).saturating_add(1), self.barrier.get(p));
                self.pending.set(addr, Pending { number, before });
            }
            Op::Interlocked { addr, writes } => {
                self.committed.raise(p, self.barrier.get(p));
                if writes {
                    self.pending.set(addr, Pending::default());
                }
            }
            Op::StoreBarrier => self.barrier.set(p, clocks.writes(p)),
            Op::Fence | Op::Start { .. } => self.committed.raise(p, clocks.writes(p)),
            Op::Join { child } => self.committed.raise(child, clocks.writes(child)),
        }
        found
    }

    fn record(&mut self, on: bool) {
        self.committed.record(on);
        self.barrier.record(on);
        self.pending.record(on);
    }

    fn mark(&self) -> Self::Mark {
        (self.committed.mark(), self.barrier.mark(), self.pending.mark())
    }

    fn rewind(&mut self, mark: Self::Mark) {
        self.committed.rewind(mark.0);
        self.barrier.rewind(mark.1);
        self.pending.rewind(mark.2);
    }

    fn words(&self) -> usize {
        self.committed.len() + self.barrier.len() + 2 * self.pending.len()
    }
}
