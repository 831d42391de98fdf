//! What RC11 leaves open about accesses that have some bytes in common and not others.
//!
//! # Problem
//!
//! C11 has locations, not bytes: it says nothing about two atomic accesses of which each has bytes that the other has not. Every reading
//! that real machines have lies between two: an address with all of its bytes is *one location* (the strongest; what [`super::robust`]
//! takes it for), and each *byte is a location* (the weakest). A program that is not SC under the first is not SC. Is it
//! SC under the second?
//!
//! # Definitions
//!
//! By bytes: rf, mo and fr are relations for each byte, and hb synchronises over them ([`HappensBefore::by_bytes`]). An access does not tear: of two accesses, one comes
//! before the other on all bytes that they have in common. Otherwise RC11 as in [`super::robust`].
//!
//! # Algorithm
//!
//! For every access e that is made, or tried, take each write w of another thread to a byte of e and let A be the least set that has w and,
//! with a write to a byte of e, all later writes to that byte. These are what e comes before if it comes before w. A write is *blocked* if it, or
//! a read of it in a byte of e, happens before e; by what e itself acquires, if it reads a write outside A that releases. Report (w, e) if no write in A is blocked, and one of them comes before
//! `prev`, the access before e in its thread, or before what e comes after: the last write outside A to a byte of e, and the
//! reads of such writes. "Before" is po ∪ rf ∪ mo ∪ fr by bytes.
//!
//! Not reported is what the other monitor decides, or what needs no decision: if nothing that comes before e is to a part of an address, both readings are
//! the same; and if e and everything before it is seq_cst, an operation on a synchronisation object, or not atomic and free of races.
//!
//! # Why nothing is missed
//!
//! As in [`super::robust`], take a smallest graph by bytes that is consistent and not SC, and a (po ∪ rf)-maximal event e of it. The rest is SC, and every cycle
//! passes e: it leaves e to a write w, and enters it by po, or by a conflict y → e on other bytes. In an SC execution of the rest, then e, everything in A
//! comes after e in the graph, by mo and since accesses do not tear; so nothing in A is blocked, by coherence for each byte. y, or what comes later at its
//! byte, is outside A, and w comes before it or before prev.
//!
//! If everything is seq_cst or ordered, conflicts that hb does not order are between seq_cst accesses. Then a cycle of po ∪ rf ∪ mo ∪ fr is one of psc: rf between
//! seq_cst accesses is hb on common bytes, and what hb passes on its way through other addresses is po≠loc;hb;po≠loc.
//!
//! # Deviations
//!
//! psc and atomicity are left out where not everything is seq_cst, so reports may be about executions that are not consistent: they are not
//! violations but places where the answer is not known.
//!
//! # Complexity
//!
//! For an execution of n events, O(n · m / 64) for an access with m writes to its bytes. Only for programs that access parts of addresses.

use super::hb::HappensBefore;
use crate::bytes::{Events, MAX_EVENTS, add, has, intersects, join};
use crate::sets::{Overtaken, TooLong};
use membar_core::{Access, AccessKind, Order, Performed};

/// An access that has been made.
#[derive(Clone, Debug)]
struct Made {
    performed: Performed,
    /// Which access of its thread it is, from 1.
    index: u32,
    /// Everything that comes before it, with itself.
    past: Events,
    /// The last event of its thread before it.
    previous: Option<u32>,
    /// If it is a write that releases: what happens before it, how many accesses of each thread.
    released: Option<Vec<u32>>,
}

/// The monitor.
#[derive(Clone, Debug)]
pub struct Mixed {
    hb: HappensBefore,
    /// Accesses that are not atomic race or are ordered; races are found elsewhere.
    atomic_only: bool,
    last: Vec<Option<u32>>,
    made: Vec<Made>,
}

impl Mixed {
    /// For executions of this many threads. With `atomic_only`, races are found elsewhere.
    pub fn new(threads: usize, atomic_only: bool) -> Mixed {
        Mixed { hb: HappensBefore::by_bytes(threads, true), atomic_only, last: vec![None; threads], made: Vec::new() }
    }

    /// Takes the next access of the execution: a store that it might have overtaken.
    pub fn push(&mut self, performed: &Performed) -> Result<Option<Overtaken>, TooLong> {
        if self.made.len() == MAX_EVENTS {
            return Err(TooLong);
        }
        let (t, at) = (performed.thread as usize, self.made.len());
        let found = self.tried(t, performed.access);
        let mut past = self.past(self.last[t]);
        for made in self.made.iter().filter(|made| conflict(&made.performed, performed)) {
            join(&mut past, &made.past);
        }
        add(&mut past, at);
        self.hb.push(performed);
        let index = self.hb.now(t)[t];
        let releases = performed.writes && performed.order().is_atomic() && performed.order().releases();
        let released = releases.then(|| self.hb.now(t).to_vec());
        self.made.push(Made { performed: *performed, index, past, previous: self.last[t], released });
        self.last[t] = Some(at as u32);
        Ok(found)
    }

    /// Takes the last access back.
    pub fn pop(&mut self) {
        if let Some(made) = self.made.pop() {
            self.hb.pop();
            self.last[made.performed.thread as usize] = made.previous;
        }
    }

    /// Takes everything back.
    pub fn restart(&mut self) {
        self.hb.restart();
        self.made.clear();
        self.last.fill(None);
    }

    fn past(&self, event: Option<u32>) -> Events {
        event.map(|event| self.made[event as usize].past.clone()).unwrap_or_default()
    }

    /// The store that this next access of the thread might overtake, if it were made now or later.
    pub fn tried(&self, thread: usize, access: Access) -> Option<Overtaken> {
        if access.c11.is_fresh() {
            return None;
        }
        let now = self.hb.before(thread, &access);
        let known = |made: &Made| made.index <= now[made.performed.thread as usize];
        let own = |at: &usize| {
            let other = &self.made[*at].performed.access;
            other.addr == access.addr && other.overlaps(&access)
        };
        let near: Vec<usize> = (0..self.made.len()).filter(own).collect();
        let byte = |at: usize, byte: u8| self.made[at].performed.access.bytes().contains(&byte);
        // Of each byte its writes, and which of them are blocked.
        let bytes: Vec<(Vec<usize>, Vec<usize>)> = access
            .bytes()
            .map(|b| {
                let (mut writes, mut blocked) = (Vec::new(), Vec::new());
                for &at in near.iter().filter(|&&at| byte(at, b)) {
                    let made = &self.made[at];
                    if made.performed.access.kind.reads() && known(made) {
                        blocked.extend(writes.last().copied());
                    }
                    if made.performed.writes {
                        writes.push(at);
                        if known(made) {
                            blocked.push(at);
                        }
                    }
                }
                (writes, blocked)
            })
            .collect();
        let mut tried = Events::new();
        for &write in near.iter().rev().filter(|&&at| self.made[at].performed.writes) {
            if has(&tried, write) || self.made[write].performed.thread as usize == thread {
                continue;
            }
            add(&mut tried, write);
            if self.overtakes(thread, &access, &near, &bytes, write) {
                let store_site = self.made[write].performed.access.site;
                return Some(Overtaken { store: write as u32, store_site });
            }
        }
        None
    }

    fn overtakes(
        &self,
        thread: usize,
        access: &Access,
        near: &[usize],
        bytes: &[(Vec<usize>, Vec<usize>)],
        write: usize,
    ) -> bool {
        let mut after = Events::new();
        add(&mut after, write);
        loop {
            let later = |(writes, _): &(Vec<usize>, Vec<usize>)| {
                let first = writes.iter().position(|&write| has(&after, write));
                first.map_or(Vec::new(), |first| writes[first..].to_vec())
            };
            let more: Vec<usize> = bytes.iter().flat_map(later).filter(|&write| !has(&after, write)).collect();
            if more.is_empty() {
                break;
            }
            more.into_iter().for_each(|write| add(&mut after, write));
        }
        if bytes.iter().any(|(_, blocked)| blocked.iter().any(|&write| has(&after, write))) {
            return false;
        }
        let mut before = self.past(self.last[thread]);
        let acquires = access.c11.order().acquires() && access.c11.failure().acquires();
        for (byte, (writes, _)) in access.bytes().zip(bytes) {
            let last = writes.iter().rev().find(|&&write| !has(&after, write)).copied();
            let first = writes.iter().find(|&&write| has(&after, write)).copied();
            let acquired = last.filter(|_| acquires && access.kind.reads());
            if let Some(clock) = acquired.and_then(|last| self.made[last].released.as_ref())
                && near.iter().any(|&at| self.is_after(&after, access, near, at, clock))
            {
                return false;
            }
            let reads = |&&at: &&usize| {
                let made = &self.made[at].performed;
                access.kind.may_write() && made.access.bytes().contains(&byte) && first.is_none_or(|first| at < first)
            };
            for event in last.into_iter().chain(near.iter().filter(reads).copied()) {
                join(&mut before, &self.made[event].past);
            }
        }
        intersects(&after, &before) && self.is_open(access, &before)
    }

    /// Whether an event that such a clock covers is one of these writes, or reads one in a byte of the access.
    fn is_after(&self, after: &Events, access: &Access, near: &[usize], at: usize, clock: &[u32]) -> bool {
        let Made { performed, index, .. } = &self.made[at];
        if *index > clock[performed.thread as usize] {
            return false;
        }
        let source = |byte: u8| {
            let writes = |&&write: &&usize| {
                let made = &self.made[write].performed;
                write < at && made.writes && made.access.bytes().contains(&byte)
            };
            near.iter().rev().find(writes).is_some_and(|&write| has(after, write))
        };
        let mut common = access.bytes().filter(|byte| performed.access.bytes().contains(byte));
        has(after, at) || performed.access.kind.reads() && common.any(source)
    }

    /// Whether these events and the access have to be looked at.
    fn is_open(&self, access: &Access, before: &Events) -> bool {
        let events = || (0..self.made.len()).filter(|&at| has(before, at)).map(|at| &self.made[at].performed);
        let strong = |access: &Access, order: Order| {
            order == Order::SeqCst || access.c11.is_fresh() || self.atomic_only && !order.is_atomic()
        };
        let parts = access.part != 0 || events().any(|made| made.access.part != 0);
        let weak = !strong(access, access.c11.order())
            || access.kind == AccessKind::Rmw && !strong(access, access.c11.failure())
            || !events().all(|made| strong(&made.access, made.order()));
        parts && weak
    }
}

/// Whether two accesses, the first of them earlier, have a byte in common that one of them writes.
fn conflict(one: &Performed, other: &Performed) -> bool {
    one.access.addr == other.access.addr && (one.writes || other.writes) && one.access.overlaps(&other.access)
}
