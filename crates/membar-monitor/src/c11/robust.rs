//! The monitor for C11: is every execution of a program under RC11 sequentially consistent?
//!
//! # Problem
//!
//! Given one SC execution, is there an execution of the same program under RC11 that is not SC, and of which this execution gives the
//! proof? Summed over one execution of each happens-before class, the answer must be that of all RC11 graphs.
//!
//! # Definitions
//!
//! RC11 (Lahav and others, PLDI 2017) with the release sequences of C++20. Events are accesses and fences; a read-modify-write is one event;
//! a compare-exchange that fails is a read with its other order. po program order, rf reads-from, mo modification order,
//! fr = rf⁻¹;mo, eco = (rf ∪ mo ∪ fr)⁺.
//!
//! * rs = \[W\];(rf;\[RMW\])*, sw = \[≥rel\];(\[F\];po)?;rs;rf;\[R\];(po;\[F\])?;\[≥acq\] among atomic accesses, hb = (po ∪ sw)⁺;
//! * coherence: hb;eco? is irreflexive; atomicity: nothing in mo between a read-modify-write and what it read; po ∪ rf is acyclic;
//! * scb = po ∪ po≠loc;hb;po≠loc ∪ hb|loc ∪ mo ∪ fr, where a pair with a fence is in po≠loc;
//! * psc = (\[SC\] ∪ \[Fsc\];hb?);scb;(\[SC\] ∪ hb?;\[Fsc\]) ∪ \[Fsc\];(hb ∪ hb;eco;hb);\[Fsc\] is acyclic.
//!
//! SC: po ∪ rf ∪ mo ∪ fr is acyclic. Each part of that is in the order of an SC execution, so SC implies RC11. ↓x is x with everything that
//! comes before it in (po ∪ rf ∪ mo ∪ fr)⁺. For a write w, *out*(w) is w if it is seq_cst, and all seq_cst fences f with w hb? f;
//! *out'*(w) also has those with r hb? f for a reader r of w.
//!
//! # Algorithm
//!
//! For every access e of a thread with a predecessor prev, take the fences between them, and go through the writes to e's address in E = ↓prev from the
//! mo-last one back. At a write w that is *blocked*, stop: there is nothing to report at e. Otherwise report (w, e) if e fits just before w,
//! that is unless it would write there and w is a read-modify-write. A write w is blocked if
//!
//! 1. w or a reader of w happens before e (by prev: what e itself acquires does not count);
//! 2. e is seq_cst, and some o ∈ out(w) has o psc* s, where s is a seq_cst access before e in its thread or with s po≠loc;hb;po≠loc e,
//!    or a seq_cst fence that happens before e; or
//! 3. some o ∈ out'(w) has o psc* f for a seq_cst fence f that happens before e.
//!
//! The order of a compare-exchange depends on the place: if it is seq_cst only where it succeeds, a w that is blocked by 2 alone is passed, and counts
//! for the places at which it is seq_cst. Operations on synchronisation objects find the last value there is, and are never an e.
//!
//! # One more access than an SC graph is enough
//!
//! Consistency is kept by (po ∪ rf)-prefixes: hb and eco between their events are the same, and the rest of the graph only adds edges.
//! Let G be a smallest graph of the program that is consistent and not SC, and e a (po ∪ rf)-maximal event of it. G without e is consistent, so it
//! is SC, and every cycle passes e. Only mo and fr lead away from e, to a write w. The edge into e is no conflict y → e, for then y → w
//! or y = w. So it is po, prev exists, and w is in ↓prev. What e reads, or the write before it in mo, is mo-before w, hence in ↓prev: so
//! ↓prev with e is a (po ∪ rf)-prefix of G, consistent, and not SC. Exploration has an execution of each class, in one of which ↓prev is the
//! same with the same relations, and e is the thread's next access, made or waited for.
//!
//! # Which places are consistent
//!
//! Let e be placed among the writes of E; W' are those mo-after it, u the first of them. E is SC, so RC11-consistent; what is wrong
//! involves e, which nothing follows in hb.
//!
//! *Coherence*: x hb e eco x means that x is in W' or reads from it, which is 1. Through its own acquire, e would be after a
//! write h ≤ u in mo, or a fence before such a write, with x hb? h: but then x is before h in SC's order, and h before every x. *Atomicity*
//! is broken iff e writes and u read what e is put behind. *psc*, new edges into e: from what is in 2, and, by mo, fr or hb|loc, from s
//! with s (mo ∪ fr) e or f hb? y (mo ∪ fr) e; there y ≤ u, since otherwise 1 holds. Such an s or f has a psc edge to every o ∈ out(w), w ∈ W', in
//! E already; with o psc* s that would be a cycle in E. So they close no cycle that e's other edges do not. Out of e: to out(w), w ∈ W'. New edges past e, which only
//! can be the x of f hb? x scb y or of f hb;eco;hb: from fences f hb e to out'(w). If f hb e by e's own acquire only, then f hb? h for an h as above,
//! and the edge is there already. A cycle with several new edges contains one of the form o psc* f or o psc* s that is in 2 or 3. So the place is
//! consistent iff no w ∈ W' is blocked and u does not keep e away. The search reports exactly if there is such a place: blocked writes
//! below the last make all places before them inconsistent.
//!
//! # Data
//!
//! Sets of *writes*, a bit each, in the order in which they were made, as in the monitor for store buffers. For an SC event s, P(s) are the writes w with
//! o psc* s for an o ∈ out(w), and P'(s) the same with out'(w); both are kept side by side (`Reach`), since everything that is done to one is done
//! to the other. All psc edges go forward, so P(s) is known when s is made:
//!
//! * In(y), for any access y, is the union of P(s) over SC events s with s scb y or s hb? x scb y (a fence). By po that is the thread's own
//!   accesses (`own`) and the fences that happen before it (`fences`); by po≠loc;hb;po≠loc it is `apart` at the thread's last event
//!   elsewhere; by mo and fr, if y writes, everything at its address (`reached`); by hb|loc, if it reads, the last access of each
//!   thread to the address that its clock covers (`log`).
//! * P(y) of a seq_cst access is In(y), and y if it writes. P(f) of a fence is what happens before it (`hb`), and In of everything that
//!   does (`fence`), to which a read b of v adds the fences before accesses up to v: those with f hb;eco b.
//! * hb carries `hb`, `fences`, `apart` and `fence` from a release to an acquire (`Carried`), as it carries clocks.
//!   `apart` takes up P(s) at the thread's next event elsewhere (`open` until then).
//!
//! # Complexity
//!
//! O(n / 64 + threads) an access for n writes in the execution, and as much again for each write that e does not fit before; the same to undo.
//! A read also passes those accesses to its address that do not happen before it.
//!
//! # References
//!
//! Lahav, Vafeiadis, Kang, Hur, Dreyer: Repairing sequential consistency in C/C++11, PLDI 2017. Lahav, Margalit: Robustness against
//! release/acquire semantics, PLDI 2019.

use self::sets::{Carried, Cell, Reach, Thread};
use self::undo::{Entry, Packed, Undo};
use super::hb::HappensBefore;
use crate::sets::{Family, Monitored, NOBODY, Overtaken, contains, insert, join};
use membar_core::{Access, AccessKind, Fence, Order, Performed};

mod sets;
mod undo;

/// Executions of this many threads under RC11.
#[derive(Clone, Copy, Debug)]
pub struct Rc11 {
    pub(super) threads: usize,
    pub(super) undoable: bool,
    /// Violations that are races are not reported.
    pub(super) atomic_only: bool,
}

impl Family for Rc11 {
    type Given = HappensBefore;
    type At<const W: usize> = Class<W>;

    fn begin(&self) -> Class<1> {
        Class {
            family: *self,
            threads: vec![Thread::NEW; self.threads],
            addrs: Vec::new(),
            last: Vec::new(),
            log: Vec::new(),
            writes: Vec::new(),
            execution: NO_EXECUTION + 1,
            undo: Vec::new(),
            packed: Packed::default(),
        }
    }

    fn wider<const W: usize, const V: usize>(from: &Class<W>) -> Class<V> {
        let mut packed = from.packed.clone();
        from.undo.iter().for_each(|undo| packed.push(undo));
        Class {
            family: from.family,
            threads: from.threads.iter().map(Thread::wider).collect(),
            addrs: from.addrs.iter().map(Cell::wider).collect(),
            last: from.last.clone(),
            log: from
                .log
                .iter()
                .map(|logged| Logged { previous: logged.previous, index: logged.index, reach: logged.reach.wider() })
                .collect(),
            writes: from.writes.clone(),
            execution: from.execution,
            undo: Vec::new(),
            packed,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Write {
    at: u32,
    site: u32,
    interlocked: bool,
    atomic: bool,
    /// The value that it replaced.
    old: u64,
}

/// An access, for reads of its address that it happens before.
#[derive(Clone, Copy, Debug)]
struct Logged<const W: usize> {
    /// The access of the same thread to the same address before it.
    previous: u32,
    /// Which access of its thread it is.
    index: u32,
    /// The writes that lead to it or one before it if that is seq_cst, or to a fence that happens before it.
    reach: Reach<W>,
}

/// The monitor with sets of W words.
#[derive(Clone, Debug)]
pub struct Class<const W: usize> {
    family: Rc11,
    threads: Vec<Thread<W>>,
    addrs: Vec<Cell<W>>,
    /// The last access of each thread to each address, in `log`.
    last: Vec<u32>,
    log: Vec<Logged<W>>,
    writes: Vec<Write>,
    /// Goes up when all accesses are taken back: sets of an address that are about another execution count as empty.
    execution: u32,
    /// The state that each access replaced, to go back. Empty if nobody will, or the sets are packed.
    undo: Vec<Undo<W>>,
    packed: Packed,
}

/// Executions are numbered from the one after it.
const NO_EXECUTION: u32 = 0;

/// The write that this access of the thread could overtake, or [`NOBODY`].
#[inline(always)]
fn violation<const W: usize>(
    thread: &Thread<W>,
    cell: &Cell<W>,
    writes: &[Write],
    access: &Access,
    atomic_only: bool,
) -> u32 {
    // Conditions 1 and 3 of the header, and 2.
    let mut blocked = thread.now.hb.seen;
    join(&mut blocked, &thread.now.fences.seen);
    let mut strong = None;
    let (mut first, mut is_strong) = (true, false);
    for word in (0..W).rev() {
        let mut left = thread.past[word] & cell.writes[word];
        while left != 0 {
            let bit = 63 - left.leading_zeros();
            left ^= 1 << bit;
            let id = 64 * word as u32 + bit;
            if contains(&blocked, id) {
                return NOBODY;
            }
            let write = &writes[id as usize];
            let would_write = access.writes_on(write.old);
            let order = access.order(would_write);
            if access.c11.order() == Order::SeqCst || access.c11.failure() == Order::SeqCst {
                let strong = strong.get_or_insert_with(|| thread.ends(access.addr).made);
                is_strong |= contains(strong, id);
            }
            if is_strong && order == Order::SeqCst {
                // A compare-exchange may be weaker where it fails.
                if access.expected.is_none() {
                    return NOBODY;
                }
            } else if !write.interlocked || !would_write {
                let races = !order.is_atomic() || first && !write.atomic;
                return if atomic_only && races { NOBODY } else { id };
            }
            first = false;
        }
    }
    NOBODY
}

impl<const W: usize> Monitored<HappensBefore> for Class<W> {
    #[inline]
    fn is_full(&self) -> bool {
        self.writes.len() == 64 * W
    }

    fn tried(&self, t: usize, access: Access, _: &HappensBefore) -> u32 {
        let cell = self.addrs.get(access.addr as usize).filter(|cell| cell.execution == self.execution);
        let Some(cell) = cell.filter(|_| !access.c11.is_fresh()) else { return NOBODY };
        let mut thread = self.threads[t];
        thread.pass(access.c11.fence());
        violation(&thread, cell, &self.writes, &access, self.family.atomic_only)
    }

    #[cold]
    fn overtaken(&self, write: u32) -> Overtaken {
        let &Write { at, site, .. } = &self.writes[write as usize];
        Overtaken { store: at, store_site: site }
    }

    #[inline(always)]
    fn push(&mut self, performed: &Performed, hb: &HappensBefore) -> u32 {
        let (t, n, access) = (performed.thread as usize, self.threads.len(), &performed.access);
        let thread = &mut self.threads[t];
        let addr = access.addr as usize;
        if addr >= self.addrs.len() {
            fit(&mut self.addrs, &mut self.last, n, addr);
        }
        let cell = &mut self.addrs[addr];
        let last = &mut self.last[n * addr..][..n];
        if cell.execution != self.execution {
            *cell = Cell::untouched(self.execution);
            last.fill(NOBODY);
        }
        if self.family.undoable {
            let (thread_sets, cell) = (*thread, *cell);
            let Performed { thread, writes, .. } = *performed;
            let undo = Undo { thread, addr: access.addr, writes, thread_sets, cell };
            if W == 1 { self.undo.push(undo) } else { self.packed.push(&undo) }
        }
        if access.c11.fence() != Fence::None {
            thread.pass(access.c11.fence());
        }
        let found = if access.c11.is_fresh() {
            NOBODY
        } else {
            violation(thread, cell, &self.writes, access, self.family.atomic_only)
        };
        let order = performed.order();
        let (is_sc, now) = (order == Order::SeqCst, hb.now(t));

        // What leads to something that is scb before this access.
        let mut into = thread.ends(access.addr);
        if thread.addr != access.addr {
            thread.before = thread.now.apart;
            thread.addr = access.addr;
            thread.now.apart.join(&thread.open);
            thread.open = Reach::NONE;
        }
        if access.kind.reads() {
            if cell.last != NOBODY {
                insert(&mut thread.now.hb.seen, cell.last);
            }
            match order {
                Order::Plain => {}
                order if order.acquires() => thread.now.join(&cell.passed),
                _ => thread.pending.join(&cell.passed),
            }
            thread.now.fence.join(&cell.fences_written);
        }
        if performed.writes {
            into.join(&cell.reached);
        } else {
            for (&at, &known) in last.iter().zip(now) {
                let mut at = at;
                while at != NOBODY && self.log[at as usize].index > known {
                    at = self.log[at as usize].previous;
                }
                if at != NOBODY {
                    into.join(&self.log[at as usize].reach);
                }
            }
        }
        thread.now.fence.join(&into);

        // SC's own happens-before.
        join(&mut thread.past, &cell.write_past);
        if performed.writes {
            join(&mut thread.past, &cell.read_past);
            let write = self.writes.len() as u32;
            let interlocked = access.kind == AccessKind::Rmw;
            let at = self.log.len() as u32;
            let (site, atomic, old) = (access.site, order.is_atomic(), performed.old);
            self.writes.push(Write { at, site, interlocked, atomic, old });
            insert(&mut thread.past, write);
            insert(&mut cell.writes, write);
            cell.write_past = thread.past;
            cell.read_past = [0; W];
            cell.last = write;
            thread.now.hb.insert(write);
            if is_sc {
                into.insert(write);
            }
        } else {
            join(&mut cell.read_past, &thread.past);
        }

        let mut reach = thread.now.fences;
        if is_sc {
            thread.own.join(&into);
            thread.open.join(&into);
            reach.join(&into);
        }
        if performed.writes {
            if !order.is_atomic() || access.kind != AccessKind::Rmw {
                cell.passed = Carried::NONE;
            }
            if order.is_atomic() {
                cell.passed.join(if order.releases() { &thread.now } else { &thread.released });
            }
        }
        cell.reached.join(&reach);
        cell.fences.join(&thread.now.fences);
        if performed.writes {
            cell.fences_written = cell.fences;
        }
        let previous = last[t];
        if previous != NOBODY {
            reach.join(&self.log[previous as usize].reach);
        }
        last[t] = self.log.len() as u32;
        self.log.push(Logged { previous, index: now[t], reach });
        found
    }

    #[inline]
    fn pop(&mut self) {
        let n = self.threads.len();
        let (thread, addr, writes) = if W == 1 {
            let Undo { thread, addr, writes, thread_sets, cell } = self.undo.pop().expect("an access to take back");
            self.threads[thread as usize] = thread_sets;
            self.addrs[addr as usize] = cell;
            (thread, addr, writes)
        } else {
            let packed = self.packed.pop(&mut self.threads, &mut self.addrs);
            let Entry { thread, addr, writes, .. } = packed.expect("an access to take back");
            (thread, addr, writes)
        };
        let logged = self.log.pop().expect("an access to take back");
        self.last[n * addr as usize + thread as usize] = logged.previous;
        if writes {
            self.writes.pop();
        }
    }

    fn restart(&mut self) {
        self.threads.fill(Thread::NEW);
        self.execution = self.execution.wrapping_add(1);
        if self.execution == NO_EXECUTION {
            self.addrs.clear();
            self.last.clear();
            self.execution += 1;
        }
        self.writes.clear();
        self.log.clear();
        self.undo.clear();
        self.packed = Packed::default();
    }
}

/// Makes room for the sets of an address.
#[cold]
#[inline(never)]
fn fit<const W: usize>(addrs: &mut Vec<Cell<W>>, last: &mut Vec<u32>, threads: usize, addr: usize) {
    addrs.resize(addr + 1, Cell::untouched(NO_EXECUTION));
    last.resize((addr + 1) * threads, NOBODY);
}
