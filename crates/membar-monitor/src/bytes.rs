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
//! It cannot be placed there if U meets P, if rule 2 or 3 wants the initial value, or if U has an own write to a byte of e and e writes, or is
//! interlocked and does not.
//! Otherwise the trace of all events before e, and e with each of its bytes placed as late as U allows, is one of the machine. It
//! is not SC, and (w, e) is reported, if w happens before `prev`, the access before e in its thread, or before an
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
//! # Accesses that are only tried, and what an explanation needs
//!
//! X has as few events as possible, so it is z and what happens before prev or before one event y of another thread that conflicts with z: one such
//! set of events has the cycle, and leaving out the rest leaves a trace of the machine (z reads earlier writes where it loses
//! a source). So it is enough to go through the y, also none, and to place e among what happens before prev or y
//! ([`BytesMonitor::placement`]). For an access that has been made this is done for the report that people read; for one that is
//! only tried, and that the execution may have gone on without, to decide: it is first placed among all events without rules 2 and 3, the
//! condition on own writes and values, which can only add reports.
//!
//! # Compare-and-swap
//!
//! Whether it writes depends on what it finds. It is placed both ways, and each counts only if the bytes that it finds there, those of
//! the last writes outside U, say so. Values are known if an address has at most 8 bytes. Of others ([`Access::WIDE`]) both ways count.
//!
//! # Deviations
//!
//! A compare-and-swap of a part of more than 8 bytes counts as a write, even if it fails: on x86 it is one. Processors wait until
//! a store has left the buffer if a load needs only some bytes of it; this machine does not, so a report may be about an
//! execution that such a processor cannot make.
//!
//! # Complexity
//!
//! For an execution of n events, O(n/64) for each event to keep, and O(n²/64) for each write that an access of a part may be
//! placed before; for each access that conflicts with it once more, if an access is only tried or explained. Only for programs
//! that access parts of words.

use crate::sets::{Overtaken, TooLong};
use membar_core::{Access, AccessKind, Barrier, Performed, Relaxation};

/// Longer executions are not monitored.
pub const MAX_EVENTS: usize = 4096;

/// A set of events, a bit each.
pub(crate) type Events = Vec<u64>;

pub(crate) fn join(to: &mut Events, from: &Events) {
    if to.len() < from.len() {
        to.resize(from.len(), 0);
    }
    to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
}

pub(crate) fn has(set: &Events, event: usize) -> bool {
    set.get(event / 64).is_some_and(|word| word >> (event % 64) & 1 != 0)
}

pub(crate) fn add(set: &mut Events, event: usize) {
    if set.len() <= event / 64 {
        set.resize(event / 64 + 1, 0);
    }
    set[event / 64] |= 1 << (event % 64);
}

pub(crate) fn intersects(a: &Events, b: &Events) -> bool {
    a.iter().zip(b).any(|(a, b)| a & b != 0)
}

/// The bytes of an access, a bit each.
fn bytes(access: &Access) -> u32 {
    access.bytes().fold(0, |bits, byte| bits | 1 << byte)
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
    /// What the address that is being looked at held at first, if these are not all events of the execution.
    initial: Option<u64>,
}

/// How an access can overtake a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// The store.
    pub store: Overtaken,
    /// The events of an execution that shows it, in their order, without the access.
    pub kept: Vec<u32>,
    /// Those of them that the access comes before on the machine.
    pub after: Vec<u32>,
    /// Whether it writes there.
    pub writes: bool,
    /// The value that it finds, of the whole address, if that has at most 8 bytes.
    pub found: Option<u64>,
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
        BytesMonitor { machine, threads: vec![Thread::default(); threads], made: Vec::new(), initial: None }
    }

    /// Takes the next access of the execution; the store that it could have overtaken, if there is one.
    pub fn push(&mut self, performed: &Performed) -> Result<Option<Overtaken>, TooLong> {
        if self.made.len() == MAX_EVENTS {
            return Err(TooLong);
        }
        let (t, access) = (performed.thread as usize, &performed.access);
        let before = self.threads[t].clone();
        self.threads[t].pass(access.barrier);
        let history = self.history(access);
        let found = self.violation(t, access, &history, true);
        self.note(performed, before, &history);
        Ok(found.map(|(store, ..)| store))
    }

    /// Takes the next access of the execution, and does not look what it could have overtaken.
    pub fn take(&mut self, performed: &Performed) -> Result<(), TooLong> {
        if self.made.len() == MAX_EVENTS {
            return Err(TooLong);
        }
        let thread = performed.thread as usize;
        let before = self.threads[thread].clone();
        self.threads[thread].pass(performed.access.barrier);
        let history = self.history(&performed.access);
        self.note(performed, before, &history);
        Ok(())
    }

    /// Takes the next access, before which its thread was as this says.
    fn note(&mut self, performed: &Performed, before: Thread, history: &[Byte]) {
        let (t, access, at) = (performed.thread as usize, &performed.access, self.made.len());
        let thread = &self.threads[t];
        let mut past = thread.last.map(|last| self.made[last as usize].past.clone()).unwrap_or_default();
        let mut rhb = thread.before(self.machine, access.kind).clone();
        let interlocked = access.kind == AccessKind::Rmw;
        for byte in history {
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
        let mut other = self.clone();
        other.threads[thread].pass(access.barrier);
        let history = other.history(&access);
        other.violation(thread, &access, &history, false)?;
        self.placement(thread, access, None).map(|placement| placement.store)
    }

    /// How this next access of the thread can overtake this store, or any: with as few events as possible.
    pub fn placement(&self, thread: usize, access: Access, store: Option<u32>) -> Option<Placement> {
        let last = self.threads[thread].last.map(|last| &self.made[last as usize].past);
        let conflicts = |made: &&Made| {
            let Performed { thread: other, access: its, writes, .. } = &made.performed;
            let both = its.addr == access.addr && its.overlaps(&access);
            both && *other as usize != thread && (*writes || access.kind.may_write())
        };
        let mut sets: Vec<Events> = vec![last.cloned().unwrap_or_default()];
        for made in self.made.iter().filter(conflicts) {
            let mut set = made.past.clone();
            join(&mut set, &sets[0]);
            set.resize(self.made.len().div_ceil(64), 0);
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
        sets.sort_by_key(|set| set.iter().map(|word| word.count_ones()).sum::<u32>());
        sets.iter().find_map(|set| self.placement_in(thread, access, store, set))
    }

    /// The same with these events, with each of which those are that happen before it.
    fn placement_in(&self, t: usize, access: Access, store: Option<u32>, set: &Events) -> Option<Placement> {
        let kept: Vec<u32> = (0..self.made.len()).filter(|&at| has(set, at)).map(|at| at as u32).collect();
        let mut part = BytesMonitor::new(self.machine, self.threads.len());
        for &at in &kept {
            part.take(&self.made[at as usize].performed).ok()?;
        }
        part.threads[t].pass(access.barrier);
        part.initial = Some(self.initial_of(access.addr));
        let history = part.history(&access);
        let only = match store {
            Some(store) => Some(kept.binary_search(&store).ok()?),
            None => None,
        };
        let ways = part.ways(t, &access, &history, true).filter(|&(write, _)| only.is_none_or(|only| only == write));
        let (write, writes, after) = ways.into_iter().find_map(|(write, writes)| {
            let after = part.overtakes(t, &access, &history, write, (writes, true))?;
            Some((write, writes, after))
        })?;
        let wide = |made: &Made| made.performed.access.addr == access.addr && made.performed.access.is_wide();
        let is_wide = access.is_wide() || self.made.iter().any(wide);
        let found = (!is_wide).then(|| part.found(t, &access, &history, &after));
        let store = Overtaken { store: kept[write], store_site: part.made[write].performed.access.site };
        let after = (0..kept.len()).filter(|&at| has(&after, at)).map(|at| kept[at]).collect();
        Some(Placement { store, kept, after, writes, found })
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

    fn violation(&self, t: usize, access: &Access, history: &[Byte], made: bool) -> Option<(Overtaken, bool)> {
        let found = self
            .ways(t, access, history, made)
            .find(|&(write, writes)| self.overtakes(t, access, history, write, (writes, made)).is_some());
        found.map(|(write, writes)| {
            let store_site = self.made[write].performed.access.site;
            (Overtaken { store: write as u32, store_site }, writes)
        })
    }

    /// The writes before which the access might be placed, and whether it writes there.
    fn ways<'a>(
        &'a self,
        t: usize,
        access: &'a Access,
        history: &'a [Byte],
        made: bool,
    ) -> impl Iterator<Item = (usize, bool)> + 'a {
        let ppo = self.threads[t].before(self.machine, access.kind);
        let open = move |&write: &usize| self.made[write].performed.thread as usize != t && !has(ppo, write);
        let writes = history.iter().flat_map(move |byte| byte.writes.iter().rev().copied().take_while(open));
        let both: &[bool] = match (access.kind, access.expected) {
            (AccessKind::Load, _) => &[false],
            // What is left out if it is only tried makes no difference.
            (_, Some(_)) if made => &[true, false],
            _ => &[true],
        };
        writes.flat_map(move |write| both.iter().map(move |&writes| (write, writes)))
    }

    fn initial_of(&self, addr: u32) -> u64 {
        let first = self.made.iter().find(|made| made.performed.access.addr == addr);
        first.map_or(0, |made| made.performed.old)
    }

    /// The value that an access of a thread finds which comes before these events: own ones are in its buffer.
    fn found(&self, t: usize, access: &Access, history: &[Byte], after: &Events) -> u64 {
        let initial = self.initial.unwrap_or_else(|| self.initial_of(access.addr));
        let own = |write: usize| self.made[write].performed.thread as usize == t;
        let last = |byte: &Byte| {
            let mut writes = byte.writes.iter().rev().copied();
            writes.find(|&write| own(write) || !has(after, write))
        };
        if let [byte] = history
            && byte.bit == 1
            && access.part == 0
        {
            return last(byte).map_or(initial, |write| self.made[write].performed.new);
        }
        history.iter().filter(|byte| byte.bit < 1 << 8).fold(initial, |value, byte| {
            let mask = 0xff << (8 * byte.bit.trailing_zeros());
            last(byte).map_or(value, |write| value & !mask | self.made[write].performed.new & mask)
        })
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

    /// What comes after an access to these bytes, which may write them, if it can be made just before this write and is not
    /// sequentially consistent there. If it has not been `made`, perhaps.
    fn overtakes(
        &self,
        t: usize,
        access: &Access,
        history: &[Byte],
        write: usize,
        (writes, made): (bool, bool),
    ) -> Option<Events> {
        let ppo = self.threads[t].before(self.machine, access.kind);
        let mut after = Events::new();
        self.close(&mut after, write);
        let placed = if writes && made { history } else { &[] };
        loop {
            let mut more = Vec::new();
            for byte in placed {
                for &(read, source) in &byte.reads {
                    if has(&after, read) {
                        more.push(source?);
                    }
                }
                if let Some(first) = byte.writes.iter().position(|&write| has(&after, write))
                    && self.made[byte.writes[first]].performed.access.kind == AccessKind::Rmw
                {
                    more.push(byte.writes[first.checked_sub(1)?]);
                }
            }
            more.retain(|&event| !has(&after, event));
            if more.is_empty() {
                break;
            }
            more.into_iter().for_each(|event| self.close(&mut after, event));
        }
        let own = |&write: &usize| self.made[write].performed.thread as usize == t && has(&after, write);
        let waits = made && access.kind != AccessKind::Load;
        if intersects(&after, ppo) || waits && history.iter().any(|byte| byte.writes.iter().any(own)) {
            return None;
        }
        if made && access.part != Access::WIDE && access.expected.is_some() && access.kind == AccessKind::Rmw {
            let found = self.found(t, access, history, &after);
            if access.writes_on(found) != writes {
                return None;
            }
        }
        let happens_before = |event: usize| has(&self.made[event].past, write);
        if self.threads[t].last.is_some_and(|last| happens_before(last as usize)) {
            return Some(after);
        }
        let cyclic = history.iter().any(|byte| {
            let last = byte.writes.iter().rev().find(|&&write| !has(&after, write));
            let reads =
                byte.reads.iter().filter(|(_, source)| writes && source.is_none_or(|source| !has(&after, source)));
            last.copied().into_iter().chain(reads.map(|&(read, _)| read)).any(happens_before)
        });
        cyclic.then_some(after)
    }
}
