//! The sets of writes that the monitor keeps for each thread and each address ("Data" in [`super`]'s header).

use crate::sets::{NOBODY, Set, insert, join, widen};
use membar_core::Fence;

/// Two sets of writes, the first a part of the second: those that lead somewhere themselves, and those that do so, or whose readers do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach<const W: usize> {
    pub(super) made: Set<W>,
    pub(super) seen: Set<W>,
}

impl<const W: usize> Reach<W> {
    pub(super) const NONE: Reach<W> = Reach { made: [0; W], seen: [0; W] };

    #[inline(always)]
    pub(super) fn join(&mut self, from: &Reach<W>) {
        join(&mut self.made, &from.made);
        join(&mut self.seen, &from.seen);
    }

    #[inline(always)]
    pub(super) fn insert(&mut self, write: u32) {
        insert(&mut self.made, write);
        insert(&mut self.seen, write);
    }

    pub(super) fn each(&self, work: &mut impl FnMut(&[u64])) {
        work(&self.made);
        work(&self.seen);
    }

    pub(super) fn each_mut(&mut self, work: &mut impl FnMut(&mut [u64])) {
        work(&mut self.made);
        work(&mut self.seen);
    }

    pub(super) fn wider<const V: usize>(&self) -> Reach<V> {
        Reach { made: widen(&self.made), seen: widen(&self.seen) }
    }
}

/// Everything that hb carries from one thread to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried<const W: usize> {
    /// The writes that happen before this.
    pub(super) hb: Reach<W>,
    /// Those that lead to a seq_cst fence that happens before this.
    pub(super) fences: Reach<W>,
    /// Those that lead to a seq_cst access s with s po≠loc z, and z happens before this or is it.
    pub(super) apart: Reach<W>,
    /// Those that would lead to a seq_cst fence here.
    pub(super) fence: Reach<W>,
}

impl<const W: usize> Carried<W> {
    pub(super) const NONE: Carried<W> =
        Carried { hb: Reach::NONE, fences: Reach::NONE, apart: Reach::NONE, fence: Reach::NONE };

    #[inline(always)]
    pub(super) fn join(&mut self, from: &Carried<W>) {
        self.hb.join(&from.hb);
        self.fences.join(&from.fences);
        self.apart.join(&from.apart);
        self.fence.join(&from.fence);
    }

    pub(super) fn each(&self, work: &mut impl FnMut(&[u64])) {
        [&self.hb, &self.fences, &self.apart, &self.fence].into_iter().for_each(|reach| reach.each(work));
    }

    pub(super) fn each_mut(&mut self, work: &mut impl FnMut(&mut [u64])) {
        let Carried { hb, fences, apart, fence } = self;
        [hb, fences, apart, fence].into_iter().for_each(|reach| reach.each_mut(work));
    }

    pub(super) fn wider<const V: usize>(&self) -> Carried<V> {
        let Carried { hb, fences, apart, fence } = self;
        Carried { hb: hb.wider(), fences: fences.wider(), apart: apart.wider(), fence: fence.wider() }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Thread<const W: usize> {
    /// The writes in ↓prev.
    pub(super) past: Set<W>,
    pub(super) now: Carried<W>,
    /// What its next acquire fence adds.
    pub(super) pending: Carried<W>,
    /// `now` at its last release fence.
    pub(super) released: Carried<W>,
    /// Those that lead to one of its seq_cst accesses.
    pub(super) own: Reach<W>,
    /// The same for its last accesses, as far as they are to one address.
    pub(super) open: Reach<W>,
    /// `now.apart` at its last access to another address than the last one, or fence.
    pub(super) before: Reach<W>,
    /// The address of its last access, unless a fence has come after it.
    pub(super) addr: u32,
}

impl<const W: usize> Thread<W> {
    pub(super) const NEW: Thread<W> = Thread {
        past: [0; W],
        now: Carried::NONE,
        pending: Carried::NONE,
        released: Carried::NONE,
        own: Reach::NONE,
        open: Reach::NONE,
        before: Reach::NONE,
        addr: NOBODY,
    };

    pub(super) fn each(&self, work: &mut impl FnMut(&[u64])) {
        work(&self.past);
        [&self.now, &self.pending, &self.released].into_iter().for_each(|carried| carried.each(work));
        [&self.own, &self.open, &self.before].into_iter().for_each(|reach| reach.each(work));
    }

    pub(super) fn each_mut(&mut self, work: &mut impl FnMut(&mut [u64])) {
        let Thread { past, now, pending, released, own, open, before, .. } = self;
        work(past);
        [now, pending, released].into_iter().for_each(|carried| carried.each_mut(work));
        [own, open, before].into_iter().for_each(|reach| reach.each_mut(work));
    }

    pub(super) fn wider<const V: usize>(&self) -> Thread<V> {
        Thread {
            past: widen(&self.past),
            now: self.now.wider(),
            pending: self.pending.wider(),
            released: self.released.wider(),
            own: self.own.wider(),
            open: self.open.wider(),
            before: self.before.wider(),
            addr: self.addr,
        }
    }

    /// The writes that lead to a seq_cst access s with s po≠loc;hb;po≠loc the next access, which is to this address.
    #[inline(always)]
    pub(super) fn apart(&self, addr: u32) -> &Reach<W> {
        if self.addr == addr { &self.before } else { &self.now.apart }
    }

    /// Those that lead, by psc, to something that is scb before its next access, whatever that reads.
    #[inline(always)]
    pub(super) fn ends(&self, addr: u32) -> Reach<W> {
        let mut ends = self.own;
        ends.join(&self.now.fences);
        ends.join(self.apart(addr));
        ends
    }

    #[inline(never)]
    pub(super) fn pass(&mut self, fence: Fence) {
        for part in fence.parts() {
            if part.acquires() {
                self.now.join(&self.pending);
            }
            // It is another place than that of any access.
            self.now.apart.join(&self.open);
            self.open = Reach::NONE;
            self.addr = NOBODY;
            if *part == Fence::SeqCst {
                let mut reach = self.own;
                reach.join(&self.now.apart);
                reach.join(&self.now.hb);
                reach.join(&self.now.fence);
                self.now.fences.join(&reach);
            }
            if part.releases() {
                self.released = self.now;
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<const W: usize> {
    /// The writes to this address.
    pub(super) writes: Set<W>,
    /// The past of the last write, itself included, and of the reads after it, joined.
    pub(super) write_past: Set<W>,
    pub(super) read_past: Set<W>,
    /// What reading the last write acquires.
    pub(super) passed: Carried<W>,
    /// The writes that lead to an access here that is seq_cst, or to a seq_cst fence that happens before one.
    pub(super) reached: Reach<W>,
    /// Those that lead to a fence that happens before an access here; and at the last write.
    pub(super) fences: Reach<W>,
    pub(super) fences_written: Reach<W>,
    /// The last write.
    pub(super) last: u32,
    /// The execution that all this is about: see [`Class::execution`].
    pub(super) execution: u32,
}

impl<const W: usize> Cell<W> {
    pub(super) fn untouched(execution: u32) -> Cell<W> {
        let none = [0; W];
        Cell {
            writes: none,
            write_past: none,
            read_past: none,
            passed: Carried::NONE,
            reached: Reach::NONE,
            fences: Reach::NONE,
            fences_written: Reach::NONE,
            last: NOBODY,
            execution,
        }
    }

    pub(super) fn each(&self, work: &mut impl FnMut(&[u64])) {
        [&self.writes, &self.write_past, &self.read_past].into_iter().for_each(|set| work(set));
        self.passed.each(work);
        [&self.reached, &self.fences, &self.fences_written].into_iter().for_each(|reach| reach.each(work));
    }

    pub(super) fn each_mut(&mut self, work: &mut impl FnMut(&mut [u64])) {
        let Cell { writes, write_past, read_past, passed, reached, fences, fences_written, .. } = self;
        [writes, write_past, read_past].into_iter().for_each(|set| work(set));
        passed.each_mut(work);
        [reached, fences, fences_written].into_iter().for_each(|reach| reach.each_mut(work));
    }

    pub(super) fn wider<const V: usize>(&self) -> Cell<V> {
        Cell {
            writes: widen(&self.writes),
            write_past: widen(&self.write_past),
            read_past: widen(&self.read_past),
            passed: self.passed.wider(),
            reached: self.reached.wider(),
            fences: self.fences.wider(),
            fences_written: self.fences_written.wider(),
            last: self.last,
            execution: self.execution,
        }
    }
}
