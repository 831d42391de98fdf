//! C11's happens-before on an SC execution, by vector clocks.
//!
//! # Problem
//!
//! hb = (po ∪ sw)⁺. A release write, or a release fence and a later atomic write of its thread, synchronises with what reads that
//! write, or a read-modify-write at the end of a chain of them that begins with it: the read itself if it acquires, otherwise
//! the next acquire fence of its thread. Which accesses happen before the last one of a thread?
//!
//! # Algorithm
//!
//! The accesses of a thread are counted from 1; entry u of a clock is the number of u's accesses that it covers. A thread has three
//! clocks: `now`; `pending`, what its next acquire fence adds, joined from what its relaxed reads found; and `released`, its `now` at its
//! last release fence. An address has one, `passed`: what reading its last write acquires. A store replaces that by the `now` of its
//! thread if it releases, otherwise by its `released`; a read-modify-write adds the same. One that is not atomic leaves nothing.
//!
//! Where accesses have some bytes of an address in common and not others ([`HappensBefore::by_bytes`]), each byte has such a clock.
//!
//! # Complexity
//!
//! O(threads) an access, and to take one back.

use membar_core::{Access, AccessKind, Fence, Performed};

/// The clocks of an execution.
#[derive(Clone, Debug)]
pub struct HappensBefore {
    threads: usize,
    /// How many clocks an address has: one, or one for each of its bytes.
    lanes: usize,
    /// Of each thread `now`, `pending` and `released`.
    clocks: Vec<u32>,
    /// Of each address, or byte, `passed`.
    passed: Vec<u32>,
    /// Of each address the execution that its clock is about.
    stamps: Vec<u32>,
    execution: u32,
    undoable: bool,
    /// Of each access the clocks that it replaced, its thread and its address.
    undo: Vec<u32>,
}

impl HappensBefore {
    /// For executions of this many threads. If it is not undoable, it can only be taken back as a whole.
    pub fn new(threads: usize, undoable: bool) -> HappensBefore {
        let (passed, stamps, undo) = (Vec::new(), Vec::new(), Vec::new());
        let clocks = vec![0; 3 * threads * threads];
        HappensBefore { threads, lanes: 1, clocks, passed, stamps, execution: 1, undoable, undo }
    }

    /// The same where accesses may have some bytes of an address in common and not others.
    pub fn by_bytes(threads: usize, undoable: bool) -> HappensBefore {
        HappensBefore { lanes: 16, ..HappensBefore::new(threads, undoable) }
    }

    /// Tells bytes apart from now on, the beginning.
    pub fn tell_bytes_apart(&mut self) {
        *self = HappensBefore::by_bytes(self.threads, self.undoable);
    }

    /// The accesses that happen before this one, if it comes next in its thread; without what it acquires itself.
    pub fn before(&self, thread: usize, access: &Access) -> Vec<u32> {
        let n = self.threads;
        let mut now = self.now(thread).to_vec();
        if access.c11.fence().parts().iter().any(|fence| fence.acquires()) {
            join(&mut now, &self.clocks[3 * n * thread..][n..2 * n]);
        }
        now
    }

    /// The accesses that happen before the last one of a thread, or are it: how many of each thread.
    #[inline(always)]
    pub fn now(&self, thread: usize) -> &[u32] {
        let n = self.threads;
        &self.clocks[3 * n * thread..][..n]
    }

    /// Takes the next access.
    #[inline]
    pub fn push(&mut self, performed: &Performed) {
        let (t, n, access) = (performed.thread as usize, self.threads, &performed.access);
        let addr = access.addr as usize;
        if addr >= self.stamps.len() {
            self.stamps.resize(addr + 1, 0);
            self.passed.resize((addr + 1) * n * self.lanes, 0);
        }
        let passed = &mut self.passed[n * addr * self.lanes..][..n * self.lanes];
        if self.stamps[addr] != self.execution {
            self.stamps[addr] = self.execution;
            passed.fill(0);
        }
        let clocks = &mut self.clocks[3 * n * t..][..3 * n];
        if self.undoable {
            self.undo.extend_from_slice(clocks);
            self.undo.extend_from_slice(passed);
            self.undo.extend([t as u32, access.addr]);
        }
        let (now, rest) = clocks.split_at_mut(n);
        let (pending, released) = rest.split_at_mut(n);
        if access.c11.fence() != Fence::None {
            for part in access.c11.fence().parts() {
                if part.acquires() {
                    join(now, pending);
                }
                if part.releases() {
                    released.copy_from_slice(now);
                }
            }
        }
        now[t] += 1;
        let order = performed.order();
        let bytes = if self.lanes == 1 { 0..1 } else { access.bytes() };
        let passed = &mut passed[n * usize::from(bytes.start)..n * usize::from(bytes.end)];
        if !order.is_atomic() {
            if performed.writes {
                passed.fill(0);
            }
            return;
        }
        if access.kind.reads() {
            let into = if order.acquires() { &mut *now } else { pending };
            passed.chunks_exact(n).for_each(|passed| join(into, passed));
        }
        if performed.writes {
            let from = if order.releases() { &*now } else { &*released };
            for passed in passed.chunks_exact_mut(n) {
                if access.kind == AccessKind::Rmw { join(passed, from) } else { passed.copy_from_slice(from) }
            }
        }
    }

    /// Takes back the last access.
    ///
    /// # Panics
    ///
    /// If there is none, or it only goes forward.
    #[inline]
    pub fn pop(&mut self) {
        let n = self.threads;
        let [.., t, addr] = self.undo[..] else { panic!("an access to take back") };
        let from = self.undo.len() - 2 - (3 + self.lanes) * n;
        let (clocks, rest) = self.undo[from..].split_at(3 * n);
        self.clocks[3 * n * t as usize..][..3 * n].copy_from_slice(clocks);
        let row = n * self.lanes;
        self.passed[row * addr as usize..][..row].copy_from_slice(&rest[..row]);
        self.undo.truncate(from);
    }

    /// Takes back all accesses.
    pub fn restart(&mut self) {
        self.clocks.fill(0);
        self.undo.clear();
        self.execution = self.execution.wrapping_add(1);
        if self.execution == 0 {
            self.stamps.fill(0);
            self.execution = 1;
        }
    }
}

#[inline(always)]
fn join(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}
