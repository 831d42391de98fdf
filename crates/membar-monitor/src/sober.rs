//! The monitor of Burckhardt and Musuvathi (SOBER), as published and corrected.
//!
//! # Problem
//! Given an SC interleaving, is one of its prefixes E a *borderline* trace: is there a load e that can come next such that E
//! with e, reading something older, is a TSO trace but not SC?
//!
//! # Algorithm
//! TSO is "→rhb is acyclic", where →rhb is →hb without the program order from a store to a later load. For a load of `a` by p
//! (figure 2): go through the writes of `a` from the last one back; stop at one that is p's own (line 8) or that →rhb-reaches
//! lastR(p), p's last read (line 10); report if it →hb-reaches last(p), p's last event (line 12). →rhb has vector clocks of its
//! own (figure 3): `lc[p]` flows into all later events of p, `sc[p]` into all but loads, `mc1[p][a]` into p's loads of `a`,
//! `mc2[a]` into writes of `a`.
//!
//! *One write decides.* All three conditions imply that the write happens before or is last(p). The writes of `a` are a chain
//! in →hb, so those that do are the co-first ones, and the loop passes over all others. At the co-last write w* of `a` that
//! last(p) covers, one of the three must hold, the third at least. So: report iff w* exists, is not p's, and does not
//! →rhb-reach lastR(p). Hence of all writes only those are needed that are w* for some later event. A later clock is a join
//! of clocks that live now (those of threads, last writes, and reads since), counted up by later writes; and w* of a
//! join is the co-last of the w* of its parts, because a write is covered by a join iff it is by a part. So a write can
//! be forgotten unless it is the last of its address, or w* of a live clock.
//!
//! # Invariants
//! - Clocks count writes only, as in `clocks`, with the same numbers: the write (q, k) →rhb-reaches an event with clock t iff
//!   `t[q]` ≥ k, because the writes of a thread are →rhb-ordered.
//! - `lc[p]` is the clock of lastR(p): figure 3 changes it at reads only, to the clock of the read.
//! - The writes of `a` are a chain in →rhb too, so `mc1[q][a]`, the join over the writes of `a` that are not plain stores of q,
//!   is the clock of the last of them: that of the last write, or, for the thread that made it with a plain store, that of
//!   the last write before that is not a plain store of the same thread. These two rows stand for all q.
//!
//! # Complexity
//! O(P) an event, and a binary search in the writes kept. Memory O(A·P) and at most O(A·(A + P)) writes, whatever the length:
//! they are sifted whenever their number has doubled.
//!
//! # Guarantees
//! `sober`: a report is right; over a set of executions that has one of every happens-before class nothing is missed *that
//! its definition of TSO allows* (theorems 2 to 4). `sober-fixed`: the same for TSO. The paper does not prove that; its lemma 1
//! goes through, because a new cycle e → write(c+1) →rhb … → e can enter e only from a read of p, as there, or from the write
//! that e reads, which is co-before write(c+1), so that E had a cycle already. Tests compare it with [`tso`](crate::tso) over
//! all interleavings of small programs, not with one interleaving per class.
//!
//! # Deviations from the paper
//! 1. `sober-fixed` only: in figure 3 a load takes order from all writes of other threads to its address, also if it reads
//!    its own thread's store. Under TSO that load comes from the store buffer and says nothing about those that are earlier in
//!    co: we then take none (acyclic(ppo ∪ rfe ∪ co ∪ fr); report UCB/EECS-2010-31, section 4, figures 6 and 7).
//! 2. Line 8 of figure 2 says i(write), the issue index; the processor is meant.
//! 3. Timestamps have N entries and not 2N. The other N count loads, and nothing is ever asked about them.
//! 4. `mc1` has two rows per address, not N: O(P) per event, not O(P²).
//! 5. A fence is an interlocked operation on a location of its own (the paper's footnote 1). One that does not write is a
//!    fence and a load: it waits for the buffer, and it reads. `start` is such a fence of the parent from which the child's
//!    first event takes order, as a read; `join` reads what a fence at the end of the child left. Store-store barriers
//!    mean nothing under TSO.
//!
//! # References
//! Burckhardt, Musuvathi: Effective Program Verification for Relaxed Memory Models, CAV 2008, figures 2 and 3, lemma 1.

use crate::clocks::{Clocks, join, widen};
use crate::event::{Event, Op, Write};
use crate::monitor::Rule;
use crate::undo::{Rows, Values, put_back};

const LC: u32 = 0;
const SC: u32 = 1;
const MC2: u32 = 2;
const LAST: u32 = 3;
const OTHER: u32 = 4;
/// No thread: the last write was interlocked.
const NOBODY: u32 = u32::MAX;

/// SOBER; see the [module](self).
#[derive(Clone, Debug)]
pub struct Sober {
    fixed: bool,
    stride: usize,
    lc: Vec<u32>,
    sc: Vec<u32>,
    mc2: Vec<u32>,
    /// The clock of each address's last write.
    last: Vec<u32>,
    /// The clock of the last write that is not a plain store by `author`.
    other: Vec<u32>,
    /// The thread that made the last write, if it was a plain store.
    author: Vec<u32>,
    /// The writes of each address that may still matter, in the order of co.
    writes: Vec<Vec<Write>>,
    /// Number of all those, and the number at which they are sifted next.
    kept: usize,
    sift_at: usize,
    rows: Rows,
    old_author: Values<u32>,
    appended: Values<()>,
}

impl Sober {
    /// As published.
    pub fn published() -> Sober {
        Sober {
            fixed: false,
            stride: 0,
            lc: Vec::new(),
            sc: Vec::new(),
            mc2: Vec::new(),
            last: Vec::new(),
            other: Vec::new(),
            author: Vec::new(),
            writes: Vec::new(),
            kept: 0,
            sift_at: 0,
            rows: Rows::default(),
            old_author: Values::default(),
            appended: Values::default(),
        }
    }

    /// Over the standard definition of TSO.
    pub fn fixed() -> Sober {
        Sober { fixed: true, ..Sober::published() }
    }

    /// Lines 6 to 15 of figure 2.
    #[inline]
    fn check(&self, p: u32, addr: u32, clocks: &Clocks) -> Option<Write> {
        let writes = &self.writes[addr as usize];
        let covered = match writes.last() {
            None => 0,
            Some(last) if clocks.covers(p, last) => writes.len(),
            _ => writes.partition_point(|write| clocks.covers(p, write)),
        };
        let found = writes[..covered].last()?;
        let reaches = self.lc[p as usize * self.stride + found.thread as usize] >= found.number;
        (found.thread != p && !reaches).then_some(*found)
    }

    /// Lines 12 to 16 of figure 3.
    #[inline]
    fn load(&mut self, p: u32, addr: u32) {
        let (stride, a) = (self.stride, addr as usize);
        let own = self.author[a] == p;
        self.save(LC, p as usize);
        self.save(MC2, a);
        let lc = &mut self.lc[p as usize * stride..][..stride];
        if !own {
            join(lc, &self.last[a * stride..][..stride]);
        } else if !self.fixed {
            join(lc, &self.other[a * stride..][..stride]);
        }
        join(&mut self.mc2[a * stride..][..stride], lc);
    }

    /// Lines 17 to 32 of figure 3.
    #[inline]
    fn write(&mut self, event: &Event, addr: u32, interlocked: bool, clocks: &Clocks) {
        let (stride, a, p) = (self.stride, addr as usize, event.thread as usize);
        for (table, index) in [(SC, p), (MC2, a), (LAST, a)] {
            self.save(table, index);
        }
        let number = clocks.writes(event.thread).saturating_add(1);
        let ts = &mut self.sc[p * stride..][..stride];
        join(ts, &self.lc[p * stride..][..stride]);
        join(ts, &self.mc2[a * stride..][..stride]);
        ts[p] = number;
        if self.author[a] != event.thread && !interlocked {
            self.rows.save(OTHER, a, &self.other[a * stride..][..stride]);
            self.other[a * stride..][..stride].copy_from_slice(&self.last[a * stride..][..stride]);
        }
        self.last[a * stride..][..stride].copy_from_slice(ts);
        self.mc2[a * stride..][..stride].copy_from_slice(ts);
        if interlocked {
            self.rows.save(LC, p, &self.lc[p * stride..][..stride]);
            self.lc[p * stride..][..stride].copy_from_slice(ts);
        }
        self.old_author.save(addr, self.author[a]);
        self.author[a] = if interlocked { NOBODY } else { event.thread };
        self.writes[a].push(Write { thread: event.thread, number, site: event.site, at: event.at });
        self.appended.save(addr, ());
        self.kept += 1;
        if self.kept > self.sift_at && !self.appended.on {
            self.sift(clocks);
        }
    }

    /// An interlocked operation on a location that nobody else uses.
    fn fence(&mut self, p: u32) {
        let (stride, p) = (self.stride, p as usize);
        self.save(LC, p);
        self.save(SC, p);
        join(&mut self.sc[p * stride..][..stride], &self.lc[p * stride..][..stride]);
        self.lc[p * stride..][..stride].copy_from_slice(&self.sc[p * stride..][..stride]);
    }

    /// Puts everything that `from` did up to its last fence before all that `into` does from now on.
    fn pass_on(&mut self, from: u32, into: u32) {
        let (stride, from, into) = (self.stride, from as usize, into as usize);
        self.save(LC, into);
        for k in 0..stride {
            let entry = self.lc[from * stride + k];
            let into = &mut self.lc[into * stride + k];
            *into = (*into).max(entry);
        }
    }

    #[inline]
    fn save(&mut self, table: u32, index: usize) {
        if self.rows.on {
            let rows = match table {
                LC => &self.lc,
                SC => &self.sc,
                MC2 => &self.mc2,
                LAST => &self.last,
                _ => &self.other,
            };
            self.rows.save(table, index, &rows[index * self.stride..][..self.stride]);
        }
    }

    /// Forgets the writes that no later event can ask for.
    #[cold]
    fn sift(&mut self, clocks: &Clocks) {
        let mut keep = Vec::new();
        self.kept = 0;
        for writes in &mut self.writes {
            if writes.len() > 8 {
                keep.clear();
                keep.resize(writes.len(), false);
                keep[writes.len() - 1] = true;
                for clock in clocks.live() {
                    let covered = writes.partition_point(|write| clock[write.thread as usize] >= write.number);
                    if covered > 0 {
                        keep[covered - 1] = true;
                    }
                }
                let mut kept = keep.iter();
                writes.retain(|_| kept.next().copied().unwrap_or(true));
            }
            self.kept += writes.len();
        }
        // Sifting takes A·(A + P) searches; this many events must come before the next, as far as memory allows.
        let addresses = self.writes.len();
        self.sift_at = 2 * self.kept + addresses * addresses.clamp(64, 256);
    }
}

impl Rule for Sober {
    type Mark = (usize, usize, usize);

    fn fit(&mut self, clocks: &Clocks) {
        if self.stride != clocks.stride() {
            for table in [&mut self.lc, &mut self.sc, &mut self.mc2, &mut self.last, &mut self.other] {
                if self.stride > 0 {
                    widen(table, self.stride, clocks.stride());
                }
            }
            self.stride = clocks.stride();
        }
        let (threads, addresses) = (clocks.threads() * self.stride, clocks.addresses() * self.stride);
        self.lc.resize(threads, 0);
        self.sc.resize(threads, 0);
        for table in [&mut self.mc2, &mut self.last, &mut self.other] {
            table.resize(addresses, 0);
        }
        self.author.resize(clocks.addresses(), NOBODY);
        self.writes.resize(clocks.addresses(), Vec::new());
        self.sift_at = self.sift_at.max(64 * clocks.addresses());
    }

    #[inline]
    fn event(&mut self, event: &Event, clocks: &Clocks) -> Option<Write> {
        let p = event.thread;
        let mut found = None;
        match event.op {
            Op::Load { addr } => {
                found = self.check(p, addr, clocks);
                self.load(p, addr);
            }
            Op::Interlocked { addr, writes: false } => {
                self.fence(p);
                found = self.check(p, addr, clocks);
                self.load(p, addr);
            }
            Op::Store { addr } => self.write(event, addr, false, clocks),
            Op::Interlocked { addr, writes: true } => self.write(event, addr, true, clocks),
            Op::Fence => self.fence(p),
            Op::StoreBarrier => {}
            Op::Start { child } => {
                self.fence(p);
                self.pass_on(p, child);
            }
            Op::Join { child } => {
                self.fence(child);
                self.pass_on(child, p);
            }
        }
        found
    }

    fn record(&mut self, on: bool) {
        (self.rows.on, self.old_author.on, self.appended.on) = (on, on, on);
    }

    fn mark(&self) -> Self::Mark {
        (self.rows.mark(), self.old_author.mark(), self.appended.mark())
    }

    fn rewind(&mut self, mark: Self::Mark) {
        let Sober { stride, lc, sc, mc2, last, other, author, writes, kept, .. } = self;
        self.rows.rewind(mark.0, |table, index, row| match table {
            LC => put_back(lc, *stride, index, row),
            SC => put_back(sc, *stride, index, row),
            MC2 => put_back(mc2, *stride, index, row),
            LAST => put_back(last, *stride, index, row),
            _ => put_back(other, *stride, index, row),
        });
        self.old_author.rewind(mark.1, |addr, old| author[addr as usize] = old);
        self.appended.rewind(mark.2, |addr, ()| {
            writes[addr as usize].pop();
            *kept -= 1;
        });
    }

    fn words(&self) -> usize {
        let rows = self.lc.len() + self.sc.len() + self.mc2.len() + self.last.len() + self.other.len();
        rows + self.author.len() + 6 * self.kept
    }
}
