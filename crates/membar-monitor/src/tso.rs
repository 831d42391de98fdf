//! The monitor of Burnim, Sen and Stergiou for TSO.
//!
//! # Problem
//! Given an SC interleaving, is there a TSO execution of the same program, with the same events but for what the last one
//! read, that is not SC?
//!
//! # Algorithm
//! Run the interleaving on the TSO machine (one first-in first-out store buffer per thread) and commit stores as late as
//! happens-before allows. For each access e of thread p to address a:
//! 1. If a store e' to a by another thread is pending and e' happens before `prev`, the event before e in p: report. Let e
//!    go first, then commit e': `e' →hb prev →po e →c e'` is a cycle.
//! 2. If a store to a by another thread q is pending, commit q's stores up to it: they happen before e.
//! 3. A store enters p's buffer; an interlocked operation empties it first. So does a fence.
//!
//! # Invariants
//! At most one thread has pending stores to an address (lemma 1 of the report: step 2 of the second writer commits those of
//! the first), and the last write of the address is the last of them. Buffers are first-in first-out, so the pending
//! stores of q are those with numbers above `committed[q]`, one number per thread: no queue is kept. A commit raises the
//! number; an interlocked write raises it to its own.
//!
//! # Complexity
//! O(1) per event besides the O(P) of the clocks; one word per thread.
//!
//! # Guarantees
//! A report is right: `witness` gives the TSO execution. Over all SC executions of a program and all their prefixes nothing
//! is missed (theorems 1 and 2). One execution of a happens-before class is not enough for that: a read by a third thread
//! commits the store that another order of the same class leaves pending. `class` has a monitor without that limit.
//!
//! # Deviations from the paper
//! - The 2011 paper asks in step 1 for any pending store to a, the 2010 report for the last one. We take the last: its
//!   appendix B shows that nothing is lost, and only then is the address's last write all that is needed.
//! - The paper has no fences, thread start or join, and no interlocked operation that does not write. A fence empties
//!   the buffer and touches no memory; `start` is a fence of the parent; `join` commits what the child had pending; an
//!   interlocked operation that does not write is checked and empties the buffer as every other.
//! - An event after `start` has a `prev` even if it is the first of its thread: what started it.
//!
//! # References
//! Burnim, Sen, Stergiou: Sound and Complete Monitoring of Sequential Consistency for Relaxed Memory Models, TACAS 2011,
//! figure 4; technical report UCB/EECS-2010-31, figures 4 and 10.

use crate::clocks::Clocks;
use crate::event::{Event, Op, Write};
use crate::monitor::Rule;
use crate::undo::Undoable;

/// The store buffers of the TSO machine; see the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Tso {
    /// A thread's writes up to this number are in memory.
    committed: Undoable<u32>,
}

impl Rule for Tso {
    type Mark = usize;

    fn fit(&mut self, clocks: &Clocks) {
        self.committed.fit(clocks.threads());
    }

    #[inline]
    fn event(&mut self, event: &Event, clocks: &Clocks) -> Option<Write> {
        let p = event.thread;
        let mut found = None;
        if let Some(addr) = event.op.addr() {
            let last = clocks.last(addr);
            if last.thread != p && last.number > self.committed.get(last.thread) {
                found = clocks.covers(p, &last).then_some(last);
                self.committed.raise(last.thread, last.number);
            }
        }
        match event.op {
            Op::Load { .. } | Op::Store { .. } | Op::StoreBarrier => {}
            Op::Interlocked { writes, .. } => self.committed.raise(p, clocks.writes(p).saturating_add(writes.into())),
            Op::Fence | Op::Start { .. } => self.committed.raise(p, clocks.writes(p)),
            Op::Join { child } => self.committed.raise(child, clocks.writes(child)),
        }
        found
    }

    fn record(&mut self, on: bool) {
        self.committed.record(on);
    }

    fn mark(&self) -> usize {
        self.committed.mark()
    }

    fn rewind(&mut self, mark: usize) {
        self.committed.rewind(mark);
    }

    fn words(&self) -> usize {
        self.committed.len()
    }
}
