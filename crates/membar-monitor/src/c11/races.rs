//! Data races of C11 on an SC execution.
//!
//! # Problem
//!
//! Two accesses to one location race if they are of different threads, one of them writes, one of them is not atomic, and neither
//! happens before the other. Then the program has no meaning in C or C++. Which accesses does the next one race with?
//!
//! # Algorithm
//!
//! For each address and thread the accesses of each of a few kinds are kept, the last one first. An access is compared with those of the
//! other threads that its kind conflicts with: it races with those that its thread's clock does not cover, which are the last ones.
//!
//! # Guarantees
//!
//! Every race of the execution is found, but for those with an access that the same thread has followed by [`FAR`] more of its kind and
//! address: then these race. Depends on the class only, since hb does.
//!
//! Operations on a synchronisation object (a lock is taken) are compared with nothing but its initialisation and destruction, which are
//! plain.
//!
//! # Complexity
//!
//! O(threads) an access, and for each race.
//!
//! # References
//!
//! Flanagan, Freund: FastTrack, PLDI 2009.

use super::hb::HappensBefore;
use membar_core::{Access, Performed};

/// A race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The earlier access, as a position in the execution.
    pub earlier: u32,
    /// Its instruction.
    pub earlier_site: u32,
}

/// Kinds of accesses: what they conflict with.
const KINDS: usize = 7;
const PLAIN_READ: usize = 0;
const PLAIN_WRITE: usize = 1;
const ATOMIC_READ: usize = 2;
const ATOMIC_WRITE: usize = 3;
/// An operation on a synchronisation object.
const SYNC: usize = 4;
/// Its initialisation or destruction.
const LIFE: usize = 5;
/// A thread leaves a barrier, which may no longer be there: that waits for nobody, and no one has to wait for it.
const DEPARTURE: usize = 6;

/// Of each kind the ones that it races with, a bit each.
const CONFLICTS: [u8; KINDS] = [
    1 << PLAIN_WRITE | 1 << ATOMIC_WRITE | 1 << LIFE,
    1 << PLAIN_READ | 1 << PLAIN_WRITE | 1 << ATOMIC_READ | 1 << ATOMIC_WRITE | 1 << LIFE,
    1 << PLAIN_WRITE | 1 << LIFE,
    1 << PLAIN_READ | 1 << PLAIN_WRITE | 1 << LIFE,
    1 << LIFE,
    0x3f,
    0,
];

fn kind(performed: &Performed) -> usize {
    let Performed { access, writes, .. } = performed;
    match (access.c11.is_fresh(), performed.order().is_atomic(), writes) {
        (true, true, false) if access.c11.meets() => DEPARTURE,
        (true, true, _) => SYNC,
        (true, false, _) => LIFE,
        (false, false, false) => PLAIN_READ,
        (false, false, true) => PLAIN_WRITE,
        (false, true, false) => ATOMIC_READ,
        (false, true, true) => ATOMIC_WRITE,
    }
}

/// How many accesses of a thread are looked back.
pub const FAR: usize = 64;

/// An access.
#[derive(Clone, Copy, Debug)]
struct Logged {
    /// The one before it of its kind, by its thread and to its address, as a position.
    previous: u32,
    /// Which access of its thread it is, from 1.
    index: u32,
    site: u32,
    part: u8,
    /// Where it was noted.
    slot: u32,
}

const NEVER: u32 = u32::MAX;

/// Looks for races. See the module.
#[derive(Clone, Debug)]
pub struct Races {
    threads: usize,
    /// The last access to each address by each thread and of each kind, in `log`.
    last: Vec<u32>,
    stamps: Vec<u32>,
    execution: u32,
    /// The accesses of the execution.
    log: Vec<Logged>,
}

impl Races {
    /// For executions of this many threads.
    pub fn new(threads: usize) -> Races {
        Races { threads, last: Vec::new(), stamps: Vec::new(), execution: 1, log: Vec::new() }
    }

    /// Takes the next access, which `hb` has taken already, and gives the races that it has with earlier ones.
    #[inline]
    pub fn push(&mut self, performed: &Performed, hb: &HappensBefore, mut found: impl FnMut(Race)) {
        let (t, addr) = (performed.thread as usize, performed.access.addr as usize);
        if addr >= self.stamps.len() {
            self.stamps.resize(addr + 1, 0);
            self.last.resize((addr + 1) * self.threads * KINDS, NEVER);
        }
        let row = self.threads * KINDS;
        let last = &mut self.last[row * addr..][..row];
        if self.stamps[addr] != self.execution {
            self.stamps[addr] = self.execution;
            last.fill(NEVER);
        }
        let (kind, now) = (kind(performed), hb.now(t));
        for (u, (theirs, &known)) in last.chunks_exact(KINDS).zip(now).enumerate() {
            let mut conflicts = if u == t { 0 } else { CONFLICTS[kind] };
            while conflicts != 0 {
                let mut other = theirs[conflicts.trailing_zeros() as usize];
                conflicts &= conflicts - 1;
                for _ in 0..FAR {
                    let Some(&Logged { previous, index, site, part, .. }) = self.log.get(other as usize) else { break };
                    if index <= known {
                        break;
                    }
                    if performed.access.overlaps(&Access { part, ..performed.access }) {
                        found(Race { earlier: other, earlier_site: site });
                    }
                    other = previous;
                }
            }
        }
        let slot = KINDS * t + kind;
        let Access { site, part, .. } = performed.access;
        let made = self.log.len() as u32;
        let previous = std::mem::replace(&mut last[slot], made);
        self.log.push(Logged { previous, index: now[t], site, part, slot: (row * addr + slot) as u32 });
    }

    /// Takes back the last access.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[inline]
    pub fn pop(&mut self) {
        let Logged { slot, previous, .. } = self.log.pop().expect("an access to take back");
        self.last[slot as usize] = previous;
    }

    /// Takes back all accesses.
    pub fn restart(&mut self) {
        self.log.clear();
        self.execution = self.execution.wrapping_add(1);
        if self.execution == 0 {
            self.stamps.fill(0);
            self.execution = 1;
        }
    }
}
