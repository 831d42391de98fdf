//! The class monitor for programs that access parts of a word: bytes are addresses of their own.
//!
//! # Problem
//!
//! As in [`crate::ClassMonitor`], but an access has a *range* of bytes of its address ([`Access::part`]). The machine has bytes too: a
//! store goes into the buffer as a whole and reaches memory in one step; a load takes each byte from the last own store in the
//! buffer that has it, and the others from memory, in one step. Under PSO stores that have a byte in common stay in order.
//!
//! # Definitions
//!
//! rf, co and fr are relations for each byte; an event is in relation with another if it is for one of their bytes. hb, ppo
//! and rhb are as in `class.rs`, with "have a byte in common" for "same address", and rfe without the bytes that a load takes from its
//! own thread's stores. A trace is SC iff hb is acyclic. It is one of the machine iff rhb is acyclic and each byte is coherent: put
//! events in an order that extends rhb, stores where they reach memory. A byte that a load has from another thread's store
//! w is in memory then: w is before the load, and what overwrites it after (fr); an own store to that byte is co-before w,
//! so it has left the buffer. A byte from an own store s is in the buffer if s comes later, and in memory otherwise.
//!
//! # Algorithm
//!
//! For every access e of a thread p, with P = all events from which rhb leads to an x of p with x ppo e, or which are such an x:
//! for every byte of e go through the writes w to it that were made before e, from the last one back, up to one of p's own or one
//! in P. Place e just before w. What has to come after e then is U, the least set that
//!
//! 1. has w, and with an event everything that rhb leads to;
//! 2. if e writes: has, with a read of a byte of e, the write that it reads (or e would come after the read by fr);
//! 3. if e writes: has, if the first write of U to a byte of e is interlocked, the write before it (nothing may come between it and
//!    what it read).
//!
//! It cannot be placed there if U meets P, if rule 2 or 3 wants the initial value, or if e writes and U has an own write to a byte of e.
//! Otherwise the trace of all events before e, and e with each of its bytes placed as late as U allows, is one of the machine. It
//! is not SC, and (w, e) is reported, if something in U happens before `prev`, the access before e in its thread, or before an
//! event y that e comes after: the last write outside U to a byte of e, or, if e writes, a read of one outside U.
//!
//! # Why a report is right
//!
//! Edges out of e lead into U, edges into e come from x ppo e and from events outside U. U is closed under rhb and does not meet P,
//! so rhb stays acyclic. A load's byte whose last own write s is in U, or has everything after it in U, reads s from the buffer: that is
//! no edge of rhb, and coherent. w happens before y or prev, which happens before e, and e before w: not SC.
//!
//! # Why nothing is missed
//!
//! Let X be a trace of the machine that is not SC, with as few events as possible, and z the greatest in the machine's order
//! of its threads' last events. As in `class.rs`, nobody reads z, X without z is a trace and SC, and every cycle of hb
//! passes z: z → w by a conflict on a byte b, and into z by po, or by a conflict y → z on another byte (on the same one,
//! y → w would close the cycle without z). Take an SC execution that begins with X without z, then z's instruction; exploration has one of its
//! class. There the writes to z's bytes made before it are those of X (and so are the reads, if z writes), since they conflict with
//! it; so is everything that happens before those, and before prev. Let u be the first write to b after z's place in X. It is not p's, and nor is any
//! write to b after it (coherence). Everything in U for w = u comes after z in X: by rhb; by fr, for rule 2; by atomicity, for rule 3. So U does not meet P,
//! and z is placed no earlier on any byte than in X. Then y, or a later write to its byte, is outside U, and u happens before it or
//! before prev. So (u, z) is reported.
//!
//! An access that is only tried is placed among all writes of the execution, of which some may come later than in X. Rules 2 and 3
//! and own writes are left out for it, which can only add reports: later writes are in U or make y later, and do not lead to P.
//!
//! # Deviations
//!
//! A compare-and-swap of a part counts as a write, even if it fails: on x86 it is one. Processors wait until a store has left the
//! buffer if a load needs only some bytes of it; this machine does not, so a report may be about an execution
//! that such a processor cannot make.
//!
//! # Complexity
//!
//! For an execution of n events, O(n/64) for each event to keep, and O(n²/64) for each write that an access of a part may be
//! placed before. Only for programs that access parts of words.

use crate::sets::{Overtaken, TooLong};
use membar_core::{Access, AccessKind, Barrier, Performed, Relaxation};

/// Longer executions are not monitored.
pub const MAX_EVENTS: usize = 4096;

/// A set of events, a bit each.
type Events = Vec<u64>;

fn join(to: &mut Events, from: &Events) {
    if to.len() < from.len() {
        to.resize(from.len(), 0);
    }
    to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
}

fn has(set: &Events, event: usize) -> bool {
    set.get(event / 64).is_some_and(|word| word >> (event % 64) & 1 != 0)
}

fn add(set: &mut Events, event: usize) {
    if set.len() <= event / 64 {
        set.resize(event / 64 + 1, 0);
    }
    set[event / 64] |= 1 << (event % 64);
}

fn meet(a: &Events, b: &Events) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b != 0)
}

/// The bytes of an access, a bit each.
fn bytes(access: &Access) -> u32 {
    match access.part {
        0 => u32::MAX,
        part => ((1 << (part & 15)) - 1) << (part >> 4),
    }
}

/// The events from which rhb leads to something that is ppo before a later load, a later store, or anything after a full barrier
/// of a thread, and its last event.
#[derive(Clone, Debug, Default)]
struct Thread {
    loads: Events,
    stores: Events,
    all: Events,
    last: Option<u32>,
}

impl Thread {
    fn pass(&mut self, barrier: Barrier) {
        match barrier {
            Barrier::None => {}
            Barrier::Store => self.stores.clone_from(&self.all),
            Barrier::Full => {
                self.loads.clone_from(&self.all);
                self.stores.clone_from(&self.all);
            }
        }
    }

    fn before(&self, machine: Relaxation, kind: AccessKind) -> &Events {
        match kind {
            AccessKind::Load => &self.loads,
            _ if machine == Relaxation::Pso => &self.stores,
            _ => &self.all,
        }
    }
}

/// An access that has been made.
#[derive(Clone, Debug)]
struct Made {
    performed: Performed,
    /// Everything that happens before it, and everything that rhb leads from to it; both with itself.
    past: Events,
    rhb: Events,
    /// Its thread as it was before.
    thread: Thread,
}

/// The monitor.
#[derive(Clone, Debug)]
pub struct BytesMonitor {
    machine: Relaxation,
    threads: Vec<Thread>,
    made: Vec<Made>,
}

/// What the execution has of a byte.
struct Byte {
    bit: u32,
    /// The writes to it, in order, and the reads with the write that each of them reads.
    writes: Vec<usize>,
    reads: Vec<(usize, Option<usize>)>,
}

impl BytesMonitor {
    /// A monitor for executions of this many threads.
    pub fn new(machine: Relaxation, threads: usize) -> BytesMonitor {
        BytesMonitor { machine, threads: vec![Thread::default(); threads], made: Vec::new() }
    }

    /// Takes the next access of the execution; the store that it could have overtaken, if there is one.
    pub fn push(&mut self, performed: &Performed) -> Result<Option<Overtaken>, TooLong> {
        let (t, access, at) = (performed.thread as usize, &performed.access, self.made.len());
        if at == MAX_EVENTS {
            return Err(TooLong);
        }
        let before = self.threads[t].clone();
        self.threads[t].pass(access.barrier);
        let history = self.history(access);
        let found = self.violation(t, access, &history, true);
        let thread = &self.threads[t];
        let mut past = thread.last.map(|last| self.made[last as usize].past.clone()).unwrap_or_default();
        let mut rhb = thread.before(self.machine, access.kind).clone();
        let interlocked = access.kind == AccessKind::Rmw;
        for byte in &history {
            if let Some(&write) = byte.writes.last() {
                let Made { performed: wrote, past: its_past, rhb: its_rhb, .. } = &self.made[write];
                join(&mut past, its_past);
                let forwarded = wrote.thread as usize == t && wrote.access.kind != AccessKind::Rmw && !interlocked;
                if performed.writes || !forwarded {
                    join(&mut rhb, its_rhb);
                }
            }
            if performed.writes {
                for &(read, source) in &byte.reads {
                    if source == byte.writes.last().copied() {
                        join(&mut past, &self.made[read].past);
                        join(&mut rhb, &self.made[read].rhb);
                    }
                }
            }
        }
        add(&mut past, at);
        add(&mut rhb, at);
        let thread = &mut self.threads[t];
        join(&mut thread.all, &rhb);
        if access.kind != AccessKind::Store {
            join(&mut thread.loads, &rhb);
            join(&mut thread.stores, &rhb);
        }
        thread.last = Some(at as u32);
        self.made.push(Made { performed: *performed, past, rhb, thread: before });
        Ok(found)
    }

    /// Takes the last access back.
    pub fn pop(&mut self) {
        if let Some(Made { performed, thread, .. }) = self.made.pop() {
            self.threads[performed.thread as usize] = thread;
        }
    }

    /// Takes everything back.
    pub fn restart(&mut self) {
        self.made.clear();
        self.threads.fill(Thread::default());
    }

    /// The store that this next access of the thread could overtake, if it were made now or later.
    pub fn tried(&self, thread: usize, access: Access) -> Option<Overtaken> {
        let mut other = BytesMonitor { threads: self.threads.clone(), made: Vec::new(), ..*self };
        other.threads[thread].pass(access.barrier);
        other.made.clone_from(&self.made);
        let history = other.history(&access);
        other.violation(thread, &access, &history, false)
    }

    /// What was done to each byte of the access. Bytes that no access has distinguished are one.
    fn history(&self, access: &Access) -> Vec<Byte> {
        let own = |made: &&Made| made.performed.access.addr == access.addr;
        let parts = access.part != 0 || self.made.iter().filter(own).any(|made| made.performed.access.part != 0);
        let wanted = if parts { bytes(access) & 0xffff } else { 1 };
        let bits = (0..16).map(|bit| 1u32 << bit).filter(|bit| wanted & bit != 0);
        let mut history: Vec<Byte> = bits.map(|bit| Byte { bit, writes: Vec::new(), reads: Vec::new() }).collect();
        for (at, Made { performed, .. }) in self.made.iter().enumerate().filter(|(_, made)| own(made)) {
            let touched = bytes(&performed.access);
            for byte in history.iter_mut().filter(|byte| touched & byte.bit != 0) {
                if performed.access.kind.reads() {
                    byte.reads.push((at, byte.writes.last().copied()));
                }
                if performed.writes {
                    byte.writes.push(at);
                }
            }
        }
        history
    }

    fn violation(&self, t: usize, access: &Access, history: &[Byte], made: bool) -> Option<Overtaken> {
        let ppo = self.threads[t].before(self.machine, access.kind);
        for byte in history {
            for &write in byte.writes.iter().rev() {
                let wrote = &self.made[write].performed;
                if wrote.thread as usize == t || has(ppo, write) {
                    break;
                }
                // A compare-and-swap of a whole word writes if it finds what it expects; of others nobody knows.
                let writes = if history.len() == 1 { access.writes_on(wrote.old) } else { access.kind.may_write() };
                let either = history.len() > 1 && writes && access.expected.is_some();
                if self.overtakes(t, ppo, history, write, (writes, made))
                    || either && self.overtakes(t, ppo, history, write, (false, made))
                {
                    return Some(Overtaken { store: write as u32, store_site: wrote.access.site });
                }
            }
        }
        None
    }

    /// Adds an event and everything that rhb leads to from it.
    fn close(&self, after: &mut Events, event: usize) {
        if has(after, event) {
            return;
        }
        for at in event..self.made.len() {
            if has(&self.made[at].rhb, event) {
                add(after, at);
            }
        }
    }

    /// Whether an access to these bytes, which may write them, can be made just before this write, and is not sequentially
    /// consistent there. If it has not been `made`, perhaps.
    fn overtakes(&self, t: usize, ppo: &Events, history: &[Byte], write: usize, (writes, made): (bool, bool)) -> bool {
        let mut after = Events::new();
        self.close(&mut after, write);
        let placed = if writes && made { history } else { &[] };
        loop {
            let mut more = Vec::new();
            for byte in placed {
                for &(read, source) in &byte.reads {
                    if has(&after, read) {
                        let Some(source) = source else { return false };
                        more.push(source);
                    }
                }
                if let Some(first) = byte.writes.iter().position(|&write| has(&after, write))
                    && self.made[byte.writes[first]].performed.access.kind == AccessKind::Rmw
                {
                    let Some(before) = first.checked_sub(1) else { return false };
                    more.push(byte.writes[before]);
                }
            }
            more.retain(|&event| !has(&after, event));
            if more.is_empty() {
                break;
            }
            more.into_iter().for_each(|event| self.close(&mut after, event));
        }
        let own = |&write: &usize| self.made[write].performed.thread as usize == t && has(&after, write);
        if meet(&after, ppo) || writes && made && history.iter().any(|byte| byte.writes.iter().any(own)) {
            return false;
        }
        let happens_before = |event: usize| meet(&after, &self.made[event].past);
        if self.threads[t].last.is_some_and(|last| happens_before(last as usize)) {
            return true;
        }
        history.iter().any(|byte| {
            let last = byte.writes.iter().rev().find(|&&write| !has(&after, write));
            let reads =
                byte.reads.iter().filter(|(_, source)| writes && source.is_none_or(|source| !has(&after, source)));
            last.copied().into_iter().chain(reads.map(|&(read, _)| read)).any(happens_before)
        })
    }
}
