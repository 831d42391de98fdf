//! Recognises waiting loops.
//!
//! # Problem
//!
//! A thread that spins (`while (flag) ;`) would give an execution for each number of rounds. The engine wants to know when a
//! thread has made an *idle round*: one after which it is where it was, so that it will do the same again until it reads
//! something else ([`membar_explore::Waiting`]).
//!
//! # Algorithm
//!
//! All that a thread knows is in its registers, on its stack and in memory that it alone uses. At a call the registers that
//! the callee may change hold nothing that is used later. So when a thread comes to an access for the second time, with the
//! same saved registers, the same stack up to its first frame (return addresses included), the same contents of whatever
//! else it has written that is its own, calculating with floating point in the same way, having changed no shared memory in between, it is in the state that it was in then.
//! Of registers and stack only what may still be used counts ([`super::live`]). Where we have put the call in ourselves
//! ([`crate::build`]), the compiler knows nothing of it, and all registers count.
//!
//! Only instructions that a thread comes to more than once are examined; they are learnt like visible cells. A loop may count
//! its tries and begin again at some number: then several rounds of the loop together are one idle round.
//!
//! Rounds that do write, and leave everything as it was, are for [`super::park`].
//!
//! # Guarantees
//!
//! A round found to be idle is idle, except for states that differ and have the same 64-bit hash, and for memory that code
//! without instrumentation writes. A round that is not recognised costs executions, never an answer.
//!
//! # Complexity
//!
//! Linear in the depth of the stack, at most, at instructions in loops; nothing elsewhere.

use super::coroutine::Thread;
use super::live::{Live, mix};
use super::registers::register;
use super::shadow::Cell;
use super::slot::Pending;
use membar_core::{AccessKind, Barrier};
use membar_explore::Awaited;

/// How many earlier visits to an instruction are examined: a loop may count its tries, and begin again at some number.
const TRIES: usize = 1024;
/// How many earlier visits to any instruction are examined for a round that writes.
const NEAR: usize = 64;

/// Everything known about a thread's waiting, after some of its steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Idle {
    /// Lengths of the history's lists.
    pub log: u32,
    pub visits: u32,
    /// Nothing before this position of the log is examined.
    floor: u32,
    /// The thread has written nothing that was not there since this position.
    quiet: u32,
    /// The idle round, as a range of the log; empty if it is not waiting.
    pub round: (u32, u32),
    /// How much of it has been repeated.
    pub repeated: u32,
    /// The thread came back to the state in which it was this many accesses ago, having written something; 0 if not.
    pub length: u32,
    /// How many of its last accesses were the same as those `length` before them.
    pub same: u32,
    /// It is parked: `round` is what it would find different if it had a reason to continue.
    pub parked: bool,
}

/// A thread came to an instruction.
#[derive(Clone, Copy, Debug)]
struct Visit {
    site: u32,
    log: u32,
    state: u64,
}

/// Further properties of an access in the log.
#[derive(Clone, Copy, Debug)]
pub struct Deed {
    pub new: u64,
    /// Which step of the execution it was.
    pub at: u32,
    pub kind: AccessKind,
    barrier: Barrier,
    pub waits: bool,
    pub counted: bool,
}

/// The actions of a thread, if there are loops.
#[derive(Debug, Default)]
pub struct History {
    /// Each access, with what was there before it.
    pub log: Vec<Awaited>,
    /// The same for what came of it.
    pub deeds: Vec<Deed>,
    visits: Vec<Visit>,
}

/// Accesses that begin and end with everything as it was.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    pub found: &'a [Awaited],
    pub deeds: &'a [Deed],
}

impl<'a> Round<'a> {
    pub fn iter(self) -> impl Iterator<Item = (&'a Awaited, &'a Deed)> {
        self.found.iter().zip(self.deeds)
    }

    /// The value that its own write leaves in a cell before its access at `place`, unless that is the value it found there.
    pub fn holds(self, cell: u32, place: usize) -> Option<u64> {
        let own = |at: &usize| self.found[*at].addr == cell;
        let wrote = (0..place).rev().filter(own).find(|&at| self.deeds[at].kind != AccessKind::Load)?;
        let first = (0..place).find(own)?;
        (self.deeds[wrote].new != self.found[first].value).then_some(self.deeds[wrote].new)
    }
}

impl History {
    pub fn clear(&mut self) {
        self.truncate(&Idle::default());
    }

    /// Back to when this was known.
    #[inline]
    pub fn truncate(&mut self, idle: &Idle) {
        self.log.truncate(idle.log as usize);
        self.deeds.truncate(idle.log as usize);
        self.visits.truncate(idle.visits as usize);
    }

    /// The last round of a thread that is parked.
    pub fn round(&self, idle: &Idle) -> Round<'_> {
        let range = (idle.round.0 - idle.length) as usize..idle.round.0 as usize;
        Round { found: &self.log[range.clone()], deeds: &self.deeds[range] }
    }

    /// Whether two accesses are the same: what a store replaces is nothing to it, nor is how many hold a lock to one who
    /// only counts.
    fn same(&self, a: usize, b: usize) -> bool {
        let (x, y, before, after) = (&self.deeds[a], &self.deeds[b], &self.log[a], &self.log[b]);
        let what = |deed: &Deed| (deed.kind, deed.barrier, deed.waits, deed.counted);
        before.addr == after.addr
            && what(x) == what(y)
            && (x.counted || x.new == y.new && (x.kind == AccessKind::Store || before.value == after.value))
    }
}

impl Idle {
    /// The thread has made an access, as this step of the execution.
    #[inline]
    pub fn made(&mut self, made: &Pending, old: u64, new: u64, at: usize, history: &mut History) {
        let &Pending { cell, kind, barrier, waits, counted, .. } = made;
        let changed = new != old || !kind.reads();
        if self.parked {
            (self.parked, self.round, self.length) = (false, (0, 0), 0);
            (self.floor, self.quiet) = (history.log.len() as u32, history.log.len() as u32);
        }
        history.log.push(Awaited { addr: cell, value: old, until: false });
        history.deeds.push(Deed { new, at: at as u32, kind, barrier, waits, counted });
        if changed {
            self.quiet = history.log.len() as u32;
        }
        let (from, to) = self.round;
        if from < to {
            let before = history.log[(from + self.repeated) as usize];
            if changed || (before.addr, before.value) != (cell, old) {
                self.round = (0, 0);
            } else {
                self.repeated = (self.repeated + 1) % (to - from);
            }
        }
        if self.length > 0 {
            self.count(history);
        }
    }

    /// Notes whether the last access was the same as the one a round before.
    #[cold]
    fn count(&mut self, history: &History) {
        let last = history.log.len() - 1;
        if history.same(last, last - self.length as usize) { self.same += 1 } else { self.length = 0 }
    }

    /// The thread has changed something that is not seen.
    #[cold]
    pub fn disturbed(&mut self, history: &History) {
        (self.floor, self.quiet) = (history.log.len() as u32, history.log.len() as u32);
        (self.round, self.length) = ((0, 0), 0);
    }

    /// The thread is about to make an access again that may be in a loop.
    #[inline(never)]
    pub fn visit(&mut self, site: u32, state: u64, history: &mut History) {
        let now = history.log.len() as u32;
        let visits = &mut history.visits;
        self.visits = visits.len() as u32 + 1;
        if self.round.0 < self.round.1 {
            // Within a round that is being repeated every instruction is come to again; it begins where it did.
            visits.push(Visit { site, log: now, state });
            return;
        }
        let before = visits.iter().rev().take_while(|v| v.log >= self.quiet).filter(|v| v.site == site);
        if let Some(before) = before.take(TRIES).find(|v| v.state == state) {
            if before.log < now {
                (self.round, self.repeated, self.length) = ((before.log, now), 0, 0);
                let (from, last) = (before.log, history.log[now as usize - 1]);
                let same =
                    |at: u32| history.log[at as usize] == last && history.deeds[at as usize].kind == AccessKind::Load;
                let here = visits.iter().rev().take_while(|v| v.log >= from).filter(|v| v.site == site).count();
                if here as u32 == now - from && (from..now).all(same) {
                    // The loop reads once, and several rounds of it are one, because it counts them. One read stands for all of them:
                    // a write that overwrites what one read overwrites what each of them read.
                    self.round = (now - 1, now);
                }
            }
        } else if self.length == 0 && self.quiet > self.floor {
            let near = visits.iter().rev().take(NEAR).take_while(|v| v.log >= self.floor);
            if let Some(before) = near.filter(|v| v.log < now).find(|v| v.state == state && v.site == site) {
                self.length = now - before.log;
                let mut back = (self.floor + self.length..now).rev();
                let same = |&at: &u32| history.same(at as usize, (at - self.length) as usize);
                self.same = back.by_ref().take_while(same).count() as u32;
            }
        }
        history.visits.push(Visit { site, log: now, state });
    }

    /// The thread stands between two rounds, and this is what the next one would find. See [`super::park`].
    pub fn park(&mut self, finds: impl IntoIterator<Item = Awaited>, history: &mut History) {
        let nothing =
            Deed { new: 0, at: 0, kind: AccessKind::Load, barrier: Barrier::None, waits: false, counted: false };
        let from = history.log.len();
        history.log.extend(finds);
        let to = history.log.len();
        if from < to {
            history.deeds.resize(to, nothing);
            (self.round, self.repeated, self.parked) = ((from as u32, to as u32), 0, true);
        }
    }
}

/// All that the thread that runs knows and may still use, as one number: on its stack and in its registers ([`Live`]), what it
/// has written elsewhere and, if the program looks at that, how it calculates and which exceptions that has raised.
#[inline]
pub fn state(liveness: &mut Live, floats: bool, thread: &Thread) -> u64 {
    let mut stack = liveness.state(register(0), thread.entry) ^ thread.scratch;
    if floats {
        stack = mix(stack, super::float::now().bits());
    }
    thread.written.iter().fold(stack, |hash, &(addr, size)| {
        let cell = Cell { at: addr as u64, size: size.min(16) as u8, atomic: false };
        mix(mix(hash, addr as u64), super::shadow::read(&cell))
    })
}
