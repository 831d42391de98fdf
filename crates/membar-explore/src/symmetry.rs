//! Threads that are alike, explored up to renaming.
//!
//! # Problem
//!
//! Threads that begin with the same function and equal arguments, one after the other, differ in their number alone. With n of
//! them an execution has up to n! variants that say the same. One is enough.
//!
//! # Algorithm
//!
//! The program names for each thread the *twin* created just before it, if there is one ([`crate::Program::twin`]). Threads
//! linked in this way are a group. A thread's *trail* is what it has done, in order: that it has begun, that it has read this write, that
//! it has accessed memory of its own that nobody else wrote since it was started. Two threads of a group have the same trail until one of them writes what is
//! not its own, or they read from different writes. The *leader* of a thread j that has made m steps is the nearest thread before it in
//! its group whose first m steps have the same trail. If the leader has made m steps, j is disabled. Otherwise j's next step
//! happens after the leader's step m + 1, by decree.
//!
//! # Why nothing is lost
//!
//! Let σ be an execution. Go through it from its beginning, and rename: suppose that the execution σ' built so far is the
//! beginning of σ under a permutation ρ of threads: the same events, with the same conflicts in the same order. Let t be the
//! next thread of σ to make a step. If ρ(t) is disabled by its leader l, then l and ρ(t) have made equally many steps with the same trail.
//! So they are in the same state, and nothing changes if they change places: each read of one has its counterpart, which
//! reads the same write, and neither has written anything that anybody else knows. Let l make the step, and put the two
//! in each other's place in ρ. If l is disabled in turn, go on with its leader. Thus σ' is an execution with the same accesses,
//! values, conflicts and errors as σ, up to renaming; so is each violation, deadlock and data race.
//!
//! Nothing is disabled forever: a leader that has made as many steps as its follower stands before the same access, and whatever
//! disables one disables the other.
//!
//! *Reduction.* The decree is a synchronisation of two threads: j's step m + 1 waits for l's step m + 1. It depends on nothing
//! but the pasts of the two, which happen before the step, and once the step is enabled it stays so: a thread before j whose
//! trail agrees with j's as far as it goes has made as many steps as j. It has no race to be reversed, since j's step never
//! comes first. So the reduction of [`crate::tree`] holds for the program with decrees.
//!
//! # What tells threads apart
//!
//! All this rests on the program treating twins alike, which it is trusted with but not blindly: two threads with the same
//! trail have to be about to make the same access (in memory of their own: at the same place of it), and to store the same value
//! if they find the same. If they do not, they are told apart ([`crate::Program::tell_apart`]), and everything begins again.
//! What else tells them apart is the program's to notice: a thread asks who it is, or somebody waits for
//! one of them and goes on without the others. A thread that lets others know an address of its own memory may be told apart by it, since
//! addresses can be compared as numbers. One that calculates with such an address and keeps it to itself is not noticed.
//!
//! # Guarantees
//!
//! Each class of the program, up to renaming of twins, has a class here, and each class here is one of the program.
//!
//! # Complexity
//!
//! O(threads of a group) for each thread that can run at each step, and nothing for programs without twins.

use crate::Program;
use membar_core::{AccessKind, Performed};

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The access, whatever came of it.
    what: u64,
    /// The value expected, if the access compares, the one found, if it reads, and the one left.
    expected: u64,
    found: u64,
    left: u64,
    /// This and everything before it.
    trail: u64,
    /// If it writes: the address, and the writes that there were.
    replaced: Option<(u32, Written)>,
}

/// The writes to an address: how many, whose the last one is, and which step of the execution.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    times: u32,
    by: u32,
    at: u32,
}

/// What a step shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    Nothing,
    /// The thread is not like its leader.
    Difference,
    /// The thread has let others know an address of its own memory.
    Address,
}

/// The trails of all threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symmetry {
    marks: Vec<Vec<Mark>>,
    written: Vec<Written>,
    /// The steps made, and for each thread the one that started it.
    steps: u32,
    started: Vec<u32>,
}

const BEGINNING: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31)
}

impl Symmetry {
    pub fn new(threads: usize) -> Symmetry {
        Symmetry { marks: vec![Vec::new(); threads], written: Vec::new(), steps: 0, started: vec![0; threads] }
    }

    fn trail(&self, thread: usize, steps: usize) -> u64 {
        if steps == 0 { BEGINNING } else { self.marks[thread][steps - 1].trail }
    }

    /// The thread whose steps this one repeats, if there is one.
    fn leader(&self, program: &impl Program, thread: usize) -> Option<usize> {
        let steps = self.marks[thread].len();
        let trail = self.trail(thread, steps);
        let mut before = program.twin(thread);
        while let Some(twin) = before {
            if self.marks[twin].len() >= steps && self.trail(twin, steps) == trail {
                return Some(twin);
            }
            before = program.twin(twin);
        }
        None
    }

    /// The step that the thread's next step comes after by decree: whose, and which of its steps. `Err` with the leader if that
    /// has not made it, so that the thread has to wait.
    pub fn decree(&self, program: &impl Program, thread: usize) -> Option<Result<(usize, usize), usize>> {
        let leader = self.leader(program, thread)?;
        let steps = self.marks[thread].len();
        Some(if self.marks[leader].len() > steps { Ok((leader, steps)) } else { Err(leader) })
    }

    /// How many steps the thread may make in one go.
    pub fn steps(&self, program: &impl Program, thread: usize) -> usize {
        match self.leader(program, thread) {
            Some(leader) => self.marks[leader].len() - self.marks[thread].len(),
            None => usize::MAX,
        }
    }

    /// A thread has made a step. What that shows.
    pub fn push(&mut self, program: &impl Program, performed: &Performed) -> Shown {
        let thread = performed.thread as usize;
        let leader = self.leader(program, thread);
        let steps = self.marks[thread].len();
        let access = performed.access;
        let own = program.own_place(thread, access.addr);
        let place = own.map_or(u64::from(access.addr) << 1, |place| place << 1 | 1);
        let how =
            access.barrier as u64 | u64::from(access.c11.bits()) << 8 | u64::from(access.expected.is_some()) << 24;
        let site = u64::from(program.common_site(access.site)) << 32 | u64::from(access.part) << 8 | access.kind as u64;
        let what = mix(mix(mix(BEGINNING, place), site), how);
        let addr = access.addr as usize;
        if addr >= self.written.len() {
            self.written.resize(addr + 1, Written::default());
        }
        let before = self.written[addr];
        if steps == 0 {
            self.started[thread] = before.at + 1;
        }
        // What a thread has in common with others of its group.
        let meets = access.c11.meets();
        let common = match own {
            // The order of arrivals at a barrier makes no difference.
            _ if meets => true,
            Some(_) => before.times == 0 || before.by == performed.thread || before.at < self.started[thread],
            None => !performed.writes,
        };
        // Which write it reads; in memory of its own, the value says enough.
        let which = match (common, own) {
            (true, Some(_)) => 0,
            (true, None) if meets => 0,
            (true, None) => u64::from(before.times) << 1,
            (false, _) => u64::from(performed.thread) << 1 | 1,
        };
        let expected = access.expected.unwrap_or(0);
        let found = if access.kind == AccessKind::Store || meets { 0 } else { performed.old };
        let left = if meets { 0 } else { performed.new };
        let trail = [what, which, expected, found, left].into_iter().fold(self.trail(thread, steps), mix);
        let replaced = performed.writes.then(|| {
            self.written[addr] = Written { times: before.times + 1, by: performed.thread, at: self.steps };
            (access.addr, before)
        });
        self.steps += 1;
        self.marks[thread].push(Mark { what, expected, found, left, trail, replaced });
        if performed.writes && own.is_none() && program.own_value(thread, left).is_some() {
            return Shown::Address;
        }
        let Some(leader) = leader else { return Shown::Nothing };
        let Some(before) = self.marks[leader].get(steps) else { return Shown::Difference };
        let same = |theirs: u64, ours: u64| {
            let own = program.own_value(thread, ours);
            theirs == ours || own.is_some() && own == program.own_value(leader, theirs)
        };
        let other = !same(before.expected, expected) || before.found == found && !same(before.left, left);
        if other || before.what != what { Shown::Difference } else { Shown::Nothing }
    }

    /// Takes back the thread's last step.
    pub fn pop(&mut self, thread: usize) {
        self.steps -= 1;
        if let Some(Mark { replaced: Some((addr, before)), .. }) = self.marks[thread].pop() {
            self.written[addr as usize] = before;
        }
    }
}
