//! Happens-before clocks and races of one execution, for [`crate::tree`].
//!
//! # Problem
//!
//! While an execution is run step by step: which earlier steps race with the new one, and which threads could be run
//! instead of such a step so that the race is decided the other way?
//!
//! # Algorithm
//!
//! Two accesses conflict if they are to one address and at least one writes; happens-before is the transitive closure of
//! program order and conflicts. Each event has a vector clock: per thread the number of its events that happen before or
//! are the event.
//!
//! The event `e` *races* with an earlier conflicting event `c` of another thread if c happens before e with nothing in
//! between. Candidates are the last write to the address and, if e writes, the reads since; taken from the latest to the
//! earliest, each is in between of nothing iff it is not yet in the join of the clocks so far.
//!
//! For a race (c, e) let v be the events after c that do not happen after c, followed by e: executed instead of c, v leads
//! to the other outcome of the race. A thread is an *initial* of v if its first event in v has no event of v before it in
//! happens-before. Exploring any one initial of v at the state before c is enough (source sets: Abdulla, Aronis, Jonsson,
//! Sagonas: Optimal dynamic partial order reduction, POPL 2014).
//!
//! # Blocking accesses
//!
//! A blocking access (see [`crate::Waiting`]), a lock's for example, is disabled by the values of its address that it names.
//! Conflicts with it are conflicts on that address as always, but two things are special (compare Jonsson, Lång, Sagonas:
//! Awaiting for Godot, 2022):
//!
//! * before the write that it races with the access may be disabled. Then the race cannot be reversed, and the next
//!   earlier write that is concurrent with the thread takes its place, and so on until one before which the access was
//!   enabled;
//! * an access that is disabled at the end of an execution was never made, yet it races with the writes that disabled it in
//!   the same way. [`Races::at_end`] looks for them.
//!
//! One write is enough, and it is a write to that address, whatever values disable the access. The writes w₁ … wₖ to an
//! address are totally ordered by happens-before, so whatever is left out of an execution together with all that happens
//! after it, the value is what some wᵢ left, or the first one: what wᵢ₊₁ found. With the latest wᵢ₊₁ that found a value
//! which does not disable the access, the access comes after wᵢ, and there its races with earlier writes are looked for in
//! turn. That the access comes between later writes in another order is for the races of those writes with each other.
//!
//! An initial of v can run before c: what its event waited for is what was there before c, or a write of v would happen
//! before it.
//!
//! # Guarded accesses
//!
//! A blocking access may wait for another address than its own (its *guard*: nobody is in an atomic section, say). It is then a read
//! of the guard as well, in one step: it conflicts with writes to either address. What is said above holds for the guard;
//! where the access would come before a write to the guard, it still comes after the conflicting accesses to its own address that do not happen after
//! that write.
//!
//! # Barriers
//!
//! Threads that meet at a barrier ([`membar_core::C11::meeting`]) arrive in an order that nobody can tell: an arrival is
//! like a read, which conflicts with writes only. A departure is disabled until all have arrived, and happens after each of them. It could
//! not come before one, so that is no race. Nor is anything else to be had by another order of arrivals: the count that an
//! arrival finds is not shown to its thread, and a thread that arrives for the next time has departed before, so that the arrivals of two
//! rounds are never concurrent (the program sees to that: at most as many threads use such a barrier as meet there).
//!
//! # Decrees
//!
//! A step may have to come after a certain step of another thread ([`crate::symmetry`]). That is an edge of happens-before like
//! others, but no race.
//!
//! # Invariants
//!
//! Events are in the order of the execution, so every edge of happens-before goes from a lower to a higher number. The
//! writes and the reads of a cell are in that order as well.
//!
//! # Guarantees
//!
//! Every race of the new event is handed over that could be reversed and of which no initial is known. On loop-free
//! and on waiting programs the classes that result are those of brute force (`crates/membar-verify/tests/all/oracle.rs`; with
//! blocking accesses `tests/all/blocking.rs`).
//!
//! # Complexity
//!
//! O(P) for a step without a race, O(P·d) for each race of a step at distance d from the racing event.

use crate::Awaited;
use crate::set::{Many, Set};
use membar_core::Performed;

/// The clocks of an execution.
#[derive(Clone, Debug)]
pub(crate) struct Races {
    threads: usize,
    /// `threads` numbers an event.
    clocks: Vec<u32>,
    events: Vec<Event>,
    /// The events of each thread.
    own: Vec<Vec<u32>>,
    cells: Vec<Cell>,
    /// Scratch: a clock in the making, another, the first event of each thread in a sequence, and events.
    clock: Vec<u32>,
    base: Vec<u32>,
    first: Vec<u32>,
    racing: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    thread: u8,
    writes: bool,
    arrives: bool,
    addr: u32,
    /// The other address that it reads, or [`NO_GUARD`].
    guard: u32,
    /// Which event of its thread it is, from 1.
    index: u32,
    /// The previous value of the address.
    old: u64,
}

/// No address.
const NO_GUARD: u32 = u32::MAX;

#[derive(Clone, Debug, Default)]
struct Cell {
    writes: Vec<u32>,
    reads: Vec<u32>,
}

/// A race to reverse: at the state before the event at `depth`, run one of `initials`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Turn<S = Many> {
    pub(crate) depth: u32,
    pub(crate) initials: S,
}

/// Ensures that races are reversed.
pub(crate) trait Turns<S> {
    /// Threads that are taken care of at the state before the event at this depth.
    fn known(&self, depth: u32) -> S;
    /// A race of which no initial is known.
    fn turn(&mut self, turn: Turn<S>);
}

impl Races {
    pub fn new(threads: usize) -> Races {
        Races {
            threads,
            clocks: Vec::new(),
            events: Vec::new(),
            own: vec![Vec::new(); threads],
            cells: Vec::new(),
            clock: vec![0; threads],
            base: vec![0; threads],
            first: vec![0; threads],
            racing: Vec::new(),
        }
    }

    /// Takes the next event. `awaited` is what disables it, if it was a blocking access; `decree` is a thread and which of its
    /// events, from 0, comes before this one.
    #[inline]
    pub fn push<S: Set>(
        &mut self,
        performed: &Performed,
        awaited: Option<Awaited>,
        decree: Option<(usize, usize)>,
        turns: &mut impl Turns<S>,
    ) {
        let thread = performed.thread as usize;
        let meets = performed.access.c11.meets();
        let (addr, writes) = (performed.access.addr as usize, performed.writes && !meets);
        let guard = awaited.filter(|awaited| awaited.addr as usize != addr);
        let last = addr.max(guard.map_or(0, |guard| guard.addr as usize));
        if last >= self.cells.len() {
            self.cells.resize_with(last + 1, Cell::default);
        }
        let mut clock = std::mem::take(&mut self.clock);
        self.clock_of_thread(thread, &mut clock);
        clock[thread] += 1;
        let index = clock[thread];
        self.join_decree(decree, &mut clock);
        if meets && !performed.writes {
            self.join_arrivals(addr, &mut clock);
        }

        // Candidates from the latest to the earliest.
        let cell = &self.cells[addr];
        let last_write = cell.writes.last().copied();
        self.racing.clear();
        let reads = if writes { &cell.reads[..] } else { &[] };
        let since = reads.iter().rev().take_while(|&&read| last_write.is_none_or(|write| read > write));
        let let_in = guard.and_then(|guard| self.cells[guard.addr as usize].writes.last().copied());
        let mut consider = |c: u32| {
            let event = self.events[c as usize];
            if clock[event.thread as usize] < event.index {
                let other = &self.clocks[c as usize * self.threads..][..self.threads];
                for (a, &b) in clock.iter_mut().zip(other) {
                    *a = (*a).max(b);
                }
                self.racing.push(c);
            }
        };
        match let_in {
            None => since.chain(&last_write).for_each(|&c| consider(c)),
            Some(let_in) => {
                let mut all: Vec<u32> = since.chain(&last_write).copied().chain([let_in]).collect();
                all.sort_unstable();
                all.into_iter().rev().for_each(consider);
            }
        }

        for i in 0..self.racing.len() {
            let c = self.racing[i];
            if let Some(awaited) = &awaited
                && Some(c) == if guard.is_some() { let_in } else { last_write }
                && awaited.blocks(self.events[c as usize].old)
            {
                self.turn_blocking(thread, (addr, writes), awaited, decree, turns);
            } else if let Some(initials) = self.initials(c as usize, thread, &clock, turns.known(c)) {
                turns.turn(Turn { depth: c, initials });
            }
        }

        let at = self.events.len() as u32;
        self.clocks.extend_from_slice(&clock);
        self.clock = clock;
        let arrives = meets && performed.writes;
        let addr = addr as u32;
        let watched = guard.map_or(NO_GUARD, |guard| guard.addr);
        let event = Event { thread: thread as u8, writes, arrives, addr, guard: watched, index, old: performed.old };
        self.events.push(event);
        self.own[thread].push(at);
        if let Some(guard) = guard {
            self.cells[guard.addr as usize].reads.push(at);
        }
        let cell = &mut self.cells[addr as usize];
        if writes {
            cell.writes.push(at)
        } else {
            cell.reads.push(at)
        };
    }

    /// Takes back the last event.
    #[inline]
    pub fn pop(&mut self) {
        let event = self.events.pop().expect("an event to take back");
        self.clocks.truncate(self.clocks.len() - self.threads);
        self.own[event.thread as usize].pop();
        if event.guard != NO_GUARD {
            self.cells[event.guard as usize].reads.pop();
        }
        let cell = &mut self.cells[event.addr as usize];
        if event.writes {
            cell.writes.pop()
        } else {
            cell.reads.pop()
        };
    }

    /// The races of a blocking access to this address, which may write, that is disabled where an execution ends.
    pub fn at_end<S: Set>(&mut self, thread: usize, own: (usize, bool), awaited: &Awaited, turns: &mut impl Turns<S>) {
        if (awaited.addr as usize) < self.cells.len() {
            self.turn_blocking(thread, own, awaited, None, turns);
        }
    }

    /// The latest write concurrent with the thread before which its blocking access, to this address, was enabled.
    fn turn_blocking<S: Set>(
        &mut self,
        thread: usize,
        (addr, writes): (usize, bool),
        awaited: &Awaited,
        decree: Option<(usize, usize)>,
        turns: &mut impl Turns<S>,
    ) {
        let mut base = std::mem::take(&mut self.base);
        self.clock_of_thread(thread, &mut base);
        self.join_decree(decree, &mut base);
        let mut found = None;
        for &c in self.cells[awaited.addr as usize].writes.iter().rev() {
            let event = self.events[c as usize];
            if base[event.thread as usize] >= event.index {
                break;
            }
            if !awaited.blocks(event.old) {
                found = Some(c);
                break;
            }
        }
        if let Some(c) = found {
            // The events that the access would come after, had `c` not happened: its thread's past, reads that do not happen after c if it
            // writes, and writes that do not, of which there are none to the address that it waits for.
            if let Some(cell) = self.cells.get(addr) {
                let event = self.events[c as usize];
                let reads: &[u32] = if writes { &cell.reads } else { &[] };
                let guarded: &[u32] = if addr == awaited.addr as usize { &[] } else { &cell.writes };
                let after = |list: &[u32]| list.len() - list.partition_point(|&at| at < c);
                for &at in reads.iter().rev().take(after(reads)).chain(guarded.iter().rev().take(after(guarded))) {
                    let other = &self.clocks[at as usize * self.threads..][..self.threads];
                    if other[event.thread as usize] < event.index {
                        base.iter_mut().zip(other).for_each(|(a, &b)| *a = (*a).max(b));
                    }
                }
            }
            if let Some(initials) = self.initials(c as usize, thread, &base, turns.known(c)) {
                turns.turn(Turn { depth: c, initials });
            }
        }
        self.base = base;
    }

    /// Adds what happens before an event by decree.
    #[inline]
    fn join_decree(&self, decree: Option<(usize, usize)>, clock: &mut [u32]) {
        if let Some((leader, nth)) = decree {
            let other = &self.clocks[self.own[leader][nth] as usize * self.threads..][..self.threads];
            clock.iter_mut().zip(other).for_each(|(a, &b)| *a = (*a).max(b));
        }
    }

    /// Adds everything that happens before arrivals at a barrier.
    #[cold]
    fn join_arrivals(&self, addr: usize, clock: &mut [u32]) {
        for &at in &self.cells[addr].reads {
            if self.events[at as usize].arrives {
                let other = &self.clocks[at as usize * self.threads..][..self.threads];
                clock.iter_mut().zip(other).for_each(|(a, &b)| *a = (*a).max(b));
            }
        }
    }

    /// The clock of the thread's last event.
    #[inline]
    fn clock_of_thread(&self, thread: usize, clock: &mut [u32]) {
        match self.own[thread].last() {
            Some(&last) => clock.copy_from_slice(&self.clocks[last as usize * self.threads..][..self.threads]),
            None => clock.fill(0),
        }
    }

    /// The initials of the events after `c` that do not happen after it, followed by an event of `thread` with this clock.
    /// `None` if one of them is known.
    #[inline]
    fn initials<S: Set>(&mut self, c: usize, thread: usize, clock: &[u32], known: S) -> Option<S> {
        let Event { thread: by, index, .. } = self.events[c];
        let by = by as usize;
        let first = &mut self.first;
        let (mut seen, mut initials) = (S::NONE, S::NONE);
        let free = |seen: S, first: &[u32], clock: &[u32]| {
            let mut left = seen;
            while left.is_some() {
                let u = left.first();
                if clock[u] >= first[u] {
                    return false;
                }
                left = left.rest();
            }
            true
        };
        for i in c + 1..self.events.len() {
            let u = self.events[i].thread as usize;
            if seen.has(u) {
                continue;
            }
            let other = &self.clocks[i * self.threads..][..self.threads];
            if other[by] >= index {
                continue;
            }
            if free(seen, first, other) {
                if known.has(u) {
                    return None;
                }
                initials |= S::one(u);
            }
            seen |= S::one(u);
            first[u] = self.events[i].index;
        }
        if !seen.has(thread) && free(seen, first, clock) {
            if known.has(thread) {
                return None;
            }
            initials |= S::one(thread);
        }
        Some(initials)
    }
}
