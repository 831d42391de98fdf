//! The monitor for reduced exploration: its verdict depends on the happens-before class of an execution only.
//!
//! # Problem
//!
//! Given one SC execution, is there an execution of the same program under TSO (or PSO) that is not SC, and of which this
//! execution's happens-before graph gives the proof? Summed over one execution of each class, the answer must be that of
//! all executions and all their prefixes.
//!
//! # Definitions
//!
//! `po` program order, `rf` reads-from, `co` order of the writes to an address, `fr` from a read to the writes that are
//! co-after its source; `hb` = po ∪ rf ∪ co ∪ fr. A trace (events, po, rf, co) is SC iff hb is acyclic. `ppo` is what is
//! left of po:
//!
//! * under TSO all pairs but (store, load), under PSO all but (store, load), and (store, store) and (store, interlocked)
//!   to different addresses;
//! * a full barrier between two events orders them; a store barrier between them orders (store, store) and
//!   (store, interlocked);
//! * under TSO an interlocked operation orders everything before it with everything after it (it is a load and a store
//!   that waits for the buffer).
//!
//! `rfe` is rf between different threads, or with an interlocked operation at either end. `rhb` = ppo ∪ rfe ∪ co ∪ fr. A
//! trace is a TSO (PSO) trace iff rhb is acyclic and no event of a thread contradicts an earlier one of the same thread
//! and address (coherence): that is the axiomatic form of the machine with one buffer per thread (a thread and address).
//! For a set of events, ↓x is x with everything that happens before it.
//!
//! # Algorithm
//!
//! For every access `e` of a thread p with a predecessor `prev` in p, go through the writes to e's address in ↓prev, from
//! the co-last one back. At a write w that is p's, or from which rhb leads to an event x of p with x ppo e (or w itself is
//! such an x), stop: there is nothing to report at e. Otherwise report (w, e) if `e` fits just before w: that is so
//! unless e would write there and w is interlocked, because then nothing may come between w and what w read. A load
//! fits before the first w already; a compare-and-swap writes there if w found the value that it expects. If it does
//! not fit, continue to the next w. What `e` itself read does not matter, so an access that a thread would make next but has
//! not made (because it waits) is an `e` as well.
//!
//! # Why a report is right
//!
//! Let E = ↓prev and let e* be `e` placed just before w: if it reads, it reads w's co-predecessor w₀ (or the
//! initial value); if it writes, it is co-between w₀ and w. The thread p has the same past in E as in the execution
//! that was monitored, so its next access in E is `e`; with what it reads it does nothing more. So E ∪ {e*} is a trace of
//! the program, and every interlocked operation in it still reads its co-predecessor. *It is not SC*: e* → w (fr or co), w
//! happens before or is prev, prev → e* (po). *It is a TSO (PSO) trace.* E is SC, so a cycle of rhb would have to pass
//! e*. The edges out of e* go to w and to writes co-after it, which rhb leads to from w. The edges into e* come (a) from
//! events x of p with x ppo e: no path from w leads there, by the condition; (b) from writes co-before w or their reads, all
//! of which are before w in hb (co, fr), so a path from w to them would be a cycle of hb in E. Coherence: the writes of p to
//! this address in E are co-before w, since the search stops at them, hence co-before e*; a read of p in E from w or a
//! write co-after it would be an event x as in (a), since loads are ppo before everything.
//!
//! # Why nothing is missed
//!
//! Let X be a trace of the program under TSO (PSO) that is not SC, with as few events as possible, and let < be the order
//! in which the machine performed its events (stores: reached memory); < extends rhb. Among the last events of the
//! threads let z be the one that is greatest in <. Nobody reads from z: a reader r in another thread would be after z in <,
//! and r's thread ends with r or with something that is ppo-after r, because loads are ppo before everything. So X
//! without z is a trace of the program under the model, and since X is smallest, it is SC. Hence every cycle of hb in X
//! passes z. Take one: z → w by a conflict (po leads nowhere from z), and w is a write (z has no reader). The edge into
//! z cannot be a conflict y → z, for then y → w or y = w, giving a cycle without z or a contradiction to co; so it is
//! po, prev exists, and w is in ↓prev. Now take any SC execution of the program that begins with X without z; exploration has
//! one of its class. In it p's next access after prev is z's instruction, with the same address, made or waited for; ↓prev
//! is the same set with the same order, as is everything that rhb leads to within it (rhb ⊆ hb). Let u be the write in
//! ↓prev, co-after or equal to w, that is co-next to z's place in X: z → u by co or fr, and so to every write co-after u.
//! None of these is p's, by coherence, and from none does rhb lead to an x with x ppo z, for that would close a cycle of rhb
//! in X. So the search does not stop before u, and at u the access fits: if it writes there, then z read the same value
//! and wrote in X, and u is not interlocked, since it would have read z's write or z would be between it and what it
//! read. So (u, z) is reported, or a write co-after u.
//!
//! The proof needs one thing of the exploration: that every access which a thread can come to is made, or at least
//! waited for, in an execution of each class. Executions that were cut short are not complete coverage.
//!
//! # Data
//!
//! Everything is a set of *writes* of the current execution, a bit each, in the order in which they were made. Per thread:
//! `past` (writes in ↓prev), and the writes that reach, by rhb, some event that is ppo before a later load (`loads`), a
//! later store (`stores`), or anything after a full barrier (`all`). Per address the same for the last write and the reads
//! after it. The writes to go through are the bits of `past ∩ writes[address]` from the highest, since co is the order in
//! which writes were made.
//!
//! # Complexity
//!
//! O(n / 64) time per step for n writes in the execution, that is O(1) for programs of up to 64 writes, and as much again for
//! each interlocked operation that a write does not fit before; the same to undo.
//!
//! # Deviations
//!
//! SOBER asks about loads only, where the co-last write is the only one to look at, and uses rf instead of rfe in its
//! relaxed order. Burnim, Sen and Stergiou keep the buffers
//! of one machine run, so what a later access finds there depends on the interleaving, not on the class.
//!
//! # References
//!
//! Burckhardt, Musuvathi: Effective program verification for relaxed memory models, CAV 2008. Burnim, Sen, Stergiou: Sound
//! and complete monitoring of sequential consistency for relaxed memory models, TACAS 2011.

use crate::sets::{Family, Growing, Monitored, NOBODY, Overtaken, Set, TooLong, contains, join, widen};
use membar_core::{Access, AccessKind, Barrier, Performed, Relaxation};

/// The class-only monitor.
pub type ClassMonitor = Growing<StoreBuffers>;

/// What it monitors: executions of this many threads under this model.
#[derive(Clone, Copy, Debug)]
pub struct StoreBuffers {
    relaxation: Relaxation,
    threads: usize,
    undoable: bool,
}

impl ClassMonitor {
    /// A monitor for executions of this many threads.
    pub fn new(relaxation: Relaxation, threads: usize) -> ClassMonitor {
        Growing::of(StoreBuffers { relaxation, threads, undoable: true })
    }

    /// The same for executions that are only ever taken back as a whole, by [`Growing::restart`].
    pub fn forward(relaxation: Relaxation, threads: usize) -> ClassMonitor {
        Growing::of(StoreBuffers { relaxation, threads, undoable: false })
    }

    /// Takes the next access of the execution; the store that it could have overtaken, if there is one.
    #[inline(always)]
    pub fn push(&mut self, performed: &Performed) -> Result<Option<Overtaken>, TooLong> {
        self.push_given(performed, &())
    }

    /// The store that this next access of the thread could overtake, if it were made now or later.
    pub fn tried(&self, thread: usize, access: Access) -> Option<Overtaken> {
        self.tried_given(thread, access, &())
    }
}

impl Family for StoreBuffers {
    type Given = ();
    type At<const W: usize> = Class<W>;

    fn begin(&self) -> Class<1> {
        let thread = ThreadSets { past: [0], loads: [0], stores: [0], all: [0] };
        Class {
            relaxation: self.relaxation,
            threads: vec![thread; self.threads],
            addrs: Vec::new(),
            writes: Vec::new(),
            made: 0,
            execution: NO_EXECUTION + 1,
            undo: Vec::new(),
            undoable: self.undoable,
        }
    }

    fn wider<const W: usize, const V: usize>(from: &Class<W>) -> Class<V> {
        Class {
            relaxation: from.relaxation,
            threads: from.threads.iter().map(ThreadSets::wider).collect(),
            addrs: from.addrs.iter().map(AddrSets::wider).collect(),
            writes: from.writes.clone(),
            made: from.made,
            execution: from.execution,
            undo: from.undo.iter().map(Undo::wider).collect(),
            undoable: from.undoable,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct ThreadSets<const W: usize> {
    past: Set<W>,
    loads: Set<W>,
    stores: Set<W>,
    all: Set<W>,
}

impl<const W: usize> ThreadSets<W> {
    fn wider<const V: usize>(&self) -> ThreadSets<V> {
        let ThreadSets { past, loads, stores, all } = self;
        ThreadSets { past: widen(past), loads: widen(loads), stores: widen(stores), all: widen(all) }
    }
}

#[derive(Clone, Copy, Debug)]
struct AddrSets<const W: usize> {
    /// The writes to this address.
    writes: Set<W>,
    /// Of the last write, itself included: hb and rhb.
    write_past: Set<W>,
    write_rhb: Set<W>,
    /// Of the reads after it, joined.
    read_past: Set<W>,
    read_rhb: Set<W>,
    /// The thread that made the last write; none at first.
    writer: u32,
    interlocked: bool,
    /// The execution that all this is about: see [`Class::execution`].
    execution: u32,
}

impl<const W: usize> AddrSets<W> {
    fn untouched(execution: u32) -> AddrSets<W> {
        let none = [0; W];
        AddrSets {
            writes: none,
            write_past: none,
            write_rhb: none,
            read_past: none,
            read_rhb: none,
            writer: NOBODY,
            interlocked: false,
            execution,
        }
    }

    fn wider<const V: usize>(&self) -> AddrSets<V> {
        AddrSets {
            writes: widen(&self.writes),
            write_past: widen(&self.write_past),
            write_rhb: widen(&self.write_rhb),
            read_past: widen(&self.read_past),
            read_rhb: widen(&self.read_rhb),
            writer: self.writer,
            interlocked: self.interlocked,
            execution: self.execution,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Write {
    at: u32,
    thread: u32,
    site: u32,
    interlocked: bool,
    /// The value that it replaced.
    old: u64,
}

/// The monitor with sets of W words.
#[derive(Clone, Debug)]
pub struct Class<const W: usize> {
    relaxation: Relaxation,
    threads: Vec<ThreadSets<W>>,
    addrs: Vec<AddrSets<W>>,
    writes: Vec<Write>,
    /// How many accesses have been made.
    made: u32,
    /// Goes up when all accesses are taken back: sets of an address that are about another execution count as empty.
    execution: u32,
    /// The state that each access replaced, to go back. Empty if nobody will.
    undo: Vec<Undo<W>>,
    undoable: bool,
}

/// An access, and the sets before it.
#[derive(Clone, Copy, Debug)]
struct Undo<const W: usize> {
    thread: u32,
    addr: u32,
    writes: bool,
    thread_sets: ThreadSets<W>,
    addr_sets: AddrSets<W>,
}

impl<const W: usize> Undo<W> {
    fn wider<const V: usize>(&self) -> Undo<V> {
        let Undo { thread, addr, writes, ref thread_sets, ref addr_sets } = *self;
        Undo { thread, addr, writes, thread_sets: thread_sets.wider(), addr_sets: addr_sets.wider() }
    }
}

/// Executions are numbered from the one after it.
const NO_EXECUTION: u32 = 0;

impl<const W: usize> ThreadSets<W> {
    /// A barrier lasts: what it orders before an access it orders before all later ones.
    #[inline(always)]
    fn pass(&mut self, barrier: Barrier) {
        match barrier {
            Barrier::None => {}
            Barrier::Store => self.stores = self.all,
            Barrier::Full => (self.loads, self.stores) = (self.all, self.all),
        }
    }

    /// The writes that rhb leads from to something that is ppo before an access of this kind, after its barrier.
    #[inline(always)]
    fn before(&self, relaxation: Relaxation, kind: AccessKind) -> Set<W> {
        match kind {
            AccessKind::Load => self.loads,
            AccessKind::Store | AccessKind::Rmw if relaxation == Relaxation::Pso => self.stores,
            AccessKind::Store | AccessKind::Rmw => self.all,
        }
    }
}

/// The write that this access of the thread could overtake, or [`NOBODY`].
#[inline(always)]
fn violation<const W: usize>(
    t: usize,
    thread: &ThreadSets<W>,
    cell: &AddrSets<W>,
    writes: &[Write],
    before: &Set<W>,
    access: &Access,
) -> u32 {
    for word in (0..W).rev() {
        let mut left = thread.past[word] & cell.writes[word];
        while left != 0 {
            let bit = 63 - left.leading_zeros();
            left ^= 1 << bit;
            let id = 64 * word as u32 + bit;
            let write = &writes[id as usize];
            if write.thread == t as u32 || contains(before, id) {
                return NOBODY;
            }
            if !write.interlocked || !access.writes_on(write.old) {
                return id;
            }
        }
    }
    NOBODY
}

impl<const W: usize> Monitored<()> for Class<W> {
    #[inline]
    fn is_full(&self) -> bool {
        self.writes.len() == 64 * W
    }

    fn tried(&self, t: usize, access: Access, (): &()) -> u32 {
        let mut thread = self.threads[t];
        thread.pass(access.barrier);
        match self.addrs.get(access.addr as usize).filter(|cell| cell.execution == self.execution) {
            Some(cell) => {
                violation(t, &thread, cell, &self.writes, &thread.before(self.relaxation, access.kind), &access)
            }
            None => NOBODY,
        }
    }

    #[cold]
    fn overtaken(&self, write: u32) -> Overtaken {
        let &Write { at, site, .. } = &self.writes[write as usize];
        Overtaken { store: at, store_site: site }
    }

    #[inline(always)]
    fn push(&mut self, performed: &Performed, (): &()) -> u32 {
        let (t, access) = (performed.thread as usize, &performed.access);
        let thread = &mut self.threads[t];
        let addr = access.addr as usize;
        if addr >= self.addrs.len() {
            fit(&mut self.addrs, addr);
        }
        let cell = &mut self.addrs[addr];
        if cell.execution != self.execution {
            *cell = AddrSets::untouched(self.execution);
        }
        if self.undoable {
            let (thread_sets, addr_sets) = (*thread, *cell);
            let Performed { thread, writes, .. } = *performed;
            self.undo.push(Undo { thread, addr: access.addr, writes, thread_sets, addr_sets });
        }
        thread.pass(access.barrier);
        let mut rhb = thread.before(self.relaxation, access.kind);
        let found = violation(t, thread, cell, &self.writes, &rhb, access);
        join(&mut thread.past, &cell.write_past);
        let interlocked = access.kind == AccessKind::Rmw;
        if performed.writes {
            join(&mut thread.past, &cell.read_past);
            join(&mut rhb, &cell.write_rhb);
            join(&mut rhb, &cell.read_rhb);
            let write = self.writes.len();
            let (word, bit) = (write / 64, 1 << (write % 64));
            let at = self.made;
            self.writes.push(Write { at, thread: t as u32, site: access.site, interlocked, old: performed.old });
            thread.past[word] |= bit;
            rhb[word] |= bit;
            cell.writes[word] |= bit;
            (cell.write_past, cell.write_rhb) = (thread.past, rhb);
            (cell.read_past, cell.read_rhb) = ([0; W], [0; W]);
            (cell.writer, cell.interlocked) = (t as u32, interlocked);
        } else {
            // A load that its own thread's buffer answers learns nothing from memory.
            if cell.writer != t as u32 || cell.interlocked || interlocked {
                join(&mut rhb, &cell.write_rhb);
            }
            join(&mut cell.read_past, &thread.past);
            join(&mut cell.read_rhb, &rhb);
        }
        self.made += 1;
        join(&mut thread.all, &rhb);
        if access.kind != AccessKind::Store {
            join(&mut thread.loads, &rhb);
            join(&mut thread.stores, &rhb);
        }
        found
    }

    #[inline]
    fn pop(&mut self) {
        let Undo { thread, addr, writes, thread_sets, addr_sets } = self.undo.pop().expect("an access to take back");
        self.threads[thread as usize] = thread_sets;
        self.addrs[addr as usize] = addr_sets;
        self.made -= 1;
        if writes {
            self.writes.pop();
        }
    }

    fn restart(&mut self) {
        let none = [0; W];
        self.threads.fill(ThreadSets { past: none, loads: none, stores: none, all: none });
        self.execution = self.execution.wrapping_add(1);
        if self.execution == NO_EXECUTION {
            self.addrs.clear();
            self.execution += 1;
        }
        self.writes.clear();
        self.made = 0;
        self.undo.clear();
    }
}

/// Makes room for the sets of an address.
#[cold]
#[inline(never)]
fn fit<const W: usize>(addrs: &mut Vec<AddrSets<W>>, addr: usize) {
    addrs.resize(addr + 1, AddrSets::untouched(NO_EXECUTION));
}
