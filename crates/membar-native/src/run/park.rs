//! Rounds of waiting loops that write, and undo what they wrote: polling under a lock, a copy of what was read.
//!
//! # Problem
//!
//! [`super::idle`] finds rounds that only read. A thread that looks under a lock whether there is something to do writes
//! the lock twice in each round, and one that keeps what it read writes that. When may such a thread stop going round
//! until it would find something else?
//!
//! # Algorithm
//!
//! The thread has come back to a state that it was in `n` accesses ago, and its accesses since are, one by one, those that it
//! made before. Wherever it stands now, its last `n` accesses are a round R that led from its state to the same
//! state. It is *parked*, here, before its next access, if
//!
//! 1. the round before R was the same (and the one before that, if R's first write to some cell is a plain store);
//! 2. R leaves each cell as it found it: the last value that it wrote is what its first write replaced. Of a cell that R only counts in
//!    (it holds a lock for reading, or a semaphore), it takes before it gives back, and gives back all that it takes;
//! 3. nobody else accessed a cell while it held something else because of one of these rounds. Of a cell that R only counts in,
//!    this is asked only of accesses that do more than count;
//! 4. nobody else wrote a cell whose first write in R is a plain store, between the first and the last of these accesses to it.
//!
//! All of this is fixed by what happens before the thread's last access: the accesses of others that are examined are between
//! two of its own that they conflict with. So in all executions of a class it is parked at the same places.
//!
//! Explored exhaustively, with bounds or at random, a parked thread continues as soon as one of the values has changed that R found
//! first in a cell. In reduced search it makes no more accesses: to those who look for races it has ended. An execution that ends
//! like that is dropped if one of the values has changed, and is a deadlock otherwise, unless somebody waits for what R
//! would write in between ([`membar_explore::Program::stirs`]). Two parked threads loop forever beside each other if no
//! interleaving of their rounds shows one what the other has written in between ([`meet`]): those who poll under one lock,
//! say. It is enough to look at two at a time: in an interleaving of all of them, the first who sees something other than
//! before sees what one other thread has written, and these two alone would have come to it.
//!
//! # Why nothing is lost
//!
//! The only executions not explored are those with two rounds I₁ I₂ as above and another access of the thread p after them.
//!
//! *States.* Leave I₂ out. p continues from the same state. Who read what I₂ wrote read, by 2 and 3, the value that was there
//! before, and who counts with p (to read-lock what p has read-locked) is only less in its way. So this is an execution, shorter,
//! with the same end.
//!
//! *Violations.* As in [`membar_explore`]'s proof for rounds that only read, let X be a smallest trace of the program under TSO
//! or PSO that is not SC (see the proof in `membar-monitor/src/class.rs`), and z the access of which X without z is SC. Suppose
//! that X without z has I₁ I₂, and p an access after them, made or z.
//!
//! X without I₂ is a trace of the model. A read from I₂ now reads from w₀, the last write before it, which is the
//! same value. This is no new edge of rhb unless p itself read from a plain store of I₂, which it could do before others see it: but
//! either I₂ has before that an interlocked write to the cell, which is co-after w₀ and ordered before what follows, or by 4
//! w₀ is p's own. The same holds for X without I₁, where in the second case w₀ is of the round before I₁.
//!
//! Both are smaller than X, so they are SC, and every cycle of hb in X needs both: it enters p at an access u of I₁ and leaves
//! it at an access v of I₂. If v is not before u in the round, the access of I₁ that v repeats will do for v: what conflicts with v
//! and comes after it comes after that too. If v is before u, consider p's last access, which is after I₂ and not on the
//! cycle (if it is z, the cycle passes it, and not v). X without it is no smaller counterexample, so somebody reads
//! from it; and so on from that thread's last access, until one is on the cycle. So there is a cycle from u to that, without
//! v, and thus without I₂: a contradiction.
//!
//! # Guarantees
//!
//! As those of [`super::idle`]. A round that somebody saw is not left out.
//!
//! # Complexity
//!
//! Linear in the steps since the rounds began, at each access of a thread that may be in such a round; nothing elsewhere.

use super::coroutine::Thread;
use super::idle::{Deed, Idle, Round};
use super::layout::{STARTED, control};
use super::shadow::read;
use super::slot::Pending;
use super::world::World;
use membar_core::AccessKind;
use membar_explore::Awaited;
use std::ops::Range;

/// A cell that a round writes.
struct Written {
    cell: u32,
    /// The value between two rounds.
    rest: u64,
    /// It is only counted in.
    counted: bool,
    /// The first write of a round is a plain store.
    plain: bool,
}

impl World {
    /// Parks the thread that runs, which is in such a round, if it can be.
    #[cold]
    #[inline(never)]
    pub(super) fn park(&self, thread: &mut Thread, idle: &mut Idle) {
        if idle.same < idle.length {
            return;
        }
        let (log, deeds) = (&thread.history.log, &thread.history.deeds);
        let now = log.len();
        let round = now - idle.length as usize..now;
        let Some(cells) = written(log, deeds, round.clone()) else { return };
        let rounds = if cells.iter().any(|cell| cell.plain) { 3 } else { 2 };
        if idle.same < (rounds - 1) * idle.length {
            return;
        }
        let all = now - (rounds * idle.length) as usize..now;
        if self.is_seen(&cells, log, deeds, all) {
            return;
        }
        let counted = |cell| cells.iter().any(|written| written.cell == cell && written.counted);
        let first = |at: &usize| !log[round.start..*at].iter().any(|earlier| earlier.addr == log[*at].addr);
        let finds: Vec<Awaited> =
            round.clone().filter(first).map(|at| log[at]).filter(|found| !counted(found.addr)).collect();
        // If nobody else writes anything that it looks at, it waits for what never changes: that it has been started.
        let finds = if finds.is_empty() { self.own_start().into_iter().collect() } else { finds };
        idle.park(finds, &mut thread.history);
    }

    /// The word that says that the running thread has been started, which nobody writes again.
    pub fn own_start(&self) -> Option<Awaited> {
        let addr = self.shadow.number(control(self.current) + STARTED)?;
        Some(Awaited { addr, value: read(&self.shadow.cells[addr as usize]), until: false })
    }

    /// Whether another thread has seen what these accesses of the thread that runs wrote in between.
    fn is_seen(&self, cells: &[Written], log: &[Awaited], deeds: &[Deed], all: Range<usize>) -> bool {
        let own = |cell| all.clone().filter(move |&at| log[at].addr == cell);
        let sees = |written: &Written, pending: &Pending, step: u32| {
            let before = || own(written.cell).take_while(|&at| deeds[at].at < step);
            if before().next().is_none() || !own(written.cell).any(|at| deeds[at].at > step) {
                return false;
            }
            if written.plain && pending.kind != AccessKind::Load {
                return true;
            }
            if written.counted {
                let held: i32 = before().map(|at| if deeds[at].waits { 1 } else { -1 }).sum();
                return held > 0 && !pending.counted;
            }
            let wrote = before().filter(|&at| deeds[at].kind != AccessKind::Load).last();
            wrote.is_some_and(|at| deeds[at].new != written.rest)
        };
        // The steps of each thread, from its last to the first.
        let mut left: Vec<usize> = self.threads[..self.known].iter().map(|thread| thread.slots.len()).collect();
        let from = deeds[all.start].at as usize;
        (from..self.path.len()).rev().any(|step| {
            let by = self.path[step].thread();
            if by == self.current {
                return false;
            }
            left[by] -= 1;
            let pending = &self.threads[by].slots[left[by] - 1].pending;
            let written = cells.iter().find(|written| written.cell == pending.cell);
            written.is_some_and(|written| sees(written, pending, step as u32))
        })
    }
}

/// Whether two threads that go round and round can come to where one of them finds something else than in its rounds before.
/// An access that blocks does not find it: it waits until what it needs is back.
pub fn can_disturb(one: Round<'_>, two: Round<'_>) -> bool {
    let (rows, columns) = (one.found.len(), two.found.len());
    let mut seen = vec![false; rows * columns];
    let mut todo = vec![(0, 0)];
    seen[0] = true;
    while let Some((i, j)) = todo.pop() {
        for (step, next) in
            [(step(one, i, two, j), ((i + 1) % rows, j)), (step(two, j, one, i), (i, (j + 1) % columns))]
        {
            match step {
                Redone::Same => {
                    if !std::mem::replace(&mut seen[next.0 * columns + next.1], true) {
                        todo.push(next);
                    }
                }
                Redone::Blocked => {}
                Redone::Other => return true,
            }
        }
    }
    false
}

/// The result of an access of a round, made again beside another round.
enum Redone {
    /// As before.
    Same,
    Blocked,
    /// It finds something else, or hides what the other one has written.
    Other,
}

fn step(round: Round<'_>, place: usize, beside: Round<'_>, there: usize) -> Redone {
    let (found, deed) = (&round.found[place], &round.deeds[place]);
    match beside.holds(found.addr, there) {
        _ if deed.counted => Redone::Same,
        None => Redone::Same,
        Some(value) if deed.kind != AccessKind::Store && value == found.value => Redone::Same,
        Some(_) if deed.waits => Redone::Blocked,
        Some(_) => Redone::Other,
    }
}

/// The cells that a round writes. None if it does not leave them as it found them.
fn written(log: &[Awaited], deeds: &[Deed], round: Range<usize>) -> Option<Vec<Written>> {
    let mut cells: Vec<Written> = Vec::new();
    for at in round.clone().filter(|&at| deeds[at].kind != AccessKind::Load) {
        let cell = log[at].addr;
        if cells.iter().any(|written| written.cell == cell) {
            continue;
        }
        let own = || round.clone().filter(|&at| log[at].addr == cell);
        let counted = own().all(|at| deeds[at].counted);
        let plain = deeds[at].kind == AccessKind::Store;
        let rest = log[at].value;
        let is_left = if counted {
            let mut held = 0;
            let orderly = own().all(|at| {
                held += if deeds[at].waits { 1 } else { -1 };
                held >= 0
            });
            orderly && held == 0
        } else {
            own().rfind(|&at| deeds[at].kind != AccessKind::Load).is_some_and(|at| deeds[at].new == rest)
        };
        if !is_left {
            return None;
        }
        cells.push(Written { cell, rest, counted, plain });
    }
    Some(cells)
}
