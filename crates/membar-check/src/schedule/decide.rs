//! Which store executes next.
//!
//! Problem: in a quiescent state every step is a decision. A store that executes too early holds its address up until its last
//! reader has executed; if another store of the address has to come first, that shows as a conflict, the later the more
//! there is to undo. So: which stores have to execute, and which of them hold their address up for the shortest time?
//!
//! Algorithm: nobody needs a store before a read waits for it.
//! 1. Of some ready reads that wait, look at the sources that may execute. One that holds its address up for no time is
//!    taken immediately; otherwise remember the best.
//! 2. Take a read whose source may not execute as the *goal*, the earliest of its thread among those seen, and walk from who
//!    waits to what it waits for. The walk ends at a store that may execute, which the goal cannot do without: take it, or
//!    the best of 1 if that holds its address up for less. Or it comes back to itself: a conflict, found although much
//!    else could still execute (and would have to be undone). The goal stays until it has executed; the next walk continues
//!    where this one ended.
//! 3. If no read waits, look at stores of addresses that are open.
//!
//! Where accesses have pieces, a reader may wait for two stores at once: one that has executed holds its address up until the other one
//! can. Whether it can shows only when somebody walks there, and a wrong guess was undone thousands of executions later. So
//! before anything else, the readers of the last store that was guessed are the goal, whatever it costs (`held`).
//!
//! Walks need lists of predecessors. They are made at the first conflict; until then 3 stands for 2, which does for traces
//! in which every guess is right.
//!
//! Invariants: `waiting` holds the ready reads whose source has not executed, but for those that were taken out while their
//! source had; it is a hint, and 3 finds what it misses. Along `path` each node waits for the next: what waits continues
//! waiting until that executes or is undone, so executed nodes are dropped from its end, and `undo` clears it.
//!
//! Complexity: a bounded number of looks for 1 and 3. A step of a walk is paid by the execution that drops it, or by the
//! conflict that clears the path.

use super::{Demand, Scheduler, UNLISTED, WINDOW};
use crate::problem::{NONE, Problem};

/// Waiting reads that a decision looks at. More of them find a store that costs less now, but keep following whatever happens
/// to be cheap instead of the goal: with 64, some traces have twice the conflicts.
const LOOKS: usize = 4;

/// Read-modify-writes in a chain that an estimate looks ahead.
const AHEAD: usize = 4;

/// The step that a quiescent state asks for.
pub(super) enum Next {
    /// Execute this store.
    Store(u32),
    /// Some operations wait for each other.
    Cycle(Vec<super::Wait>),
    /// No store may execute.
    Nothing,
}

impl Scheduler {
    /// See the module's description.
    pub(super) fn decide(&mut self, p: &Problem) -> Next {
        let mut best = (u32::MAX, NONE);
        let blocked = self.look_at_waiting(p, &mut best);
        if best.0 == 0 {
            return Next::Store(best.1);
        }
        self.trim_path(p);
        if p.grouped()
            && !self.pred_start.is_empty()
            && let Some(goal) = self.held_up(p)
        {
            return match self.demand(p, goal) {
                Demand::Cycle(cycle) => Next::Cycle(cycle),
                Demand::Store(store) => Next::Store(store),
            };
        }
        if (blocked != NONE || !self.path.is_empty()) && !self.pred_start.is_empty() {
            match self.demand(p, blocked) {
                Demand::Cycle(cycle) => return Next::Cycle(cycle),
                Demand::Store(store) if self.hold_up(p, store, best.0) < best.0 => return Next::Store(store),
                Demand::Store(_) => {}
            }
        }
        if best.1 == NONE {
            self.look_at_open(p, &mut best);
        }
        if best.1 == NONE { Next::Nothing } else { Next::Store(best.1) }
    }

    /// The goal, or the next one among the readers that hold addresses up. Those whose source was undone are dropped.
    fn held_up(&mut self, p: &Problem) -> Option<u32> {
        if let Some(goal) = self.path.first() {
            return Some(goal.from);
        }
        while let Some(&reader) = self.held.last()
            && (self.executed(reader) || !self.executed(p.src[reader as usize]))
        {
            self.held.pop();
        }
        self.held.last().copied()
    }

    /// Notes who holds up the addresses of an access that has executed.
    pub(super) fn note_held(&mut self, p: &Problem, store: u32) {
        for piece in p.pieces(store).filter(|&piece| p.writes(piece)) {
            let readers = p.readers(piece).iter().take(WINDOW);
            let held = readers.copied().find(|&reader| !self.executed(reader));
            self.held.extend(held);
        }
    }

    /// Notes a ready read whose source has not executed.
    #[inline]
    pub(super) fn wait(&mut self, read: u32) {
        if !self.is_waiting[read as usize] {
            self.is_waiting[read as usize] = true;
            self.waiting.push(read);
        }
    }

    /// Sources of waiting reads that may execute; returns a read whose source may not.
    fn look_at_waiting(&mut self, p: &Problem, best: &mut (u32, u32)) -> u32 {
        let mut looked = 0;
        let mut blocked = (u32::MAX, NONE);
        while looked < self.waiting.len() && looked < LOOKS {
            if self.next_waiting >= self.waiting.len() {
                self.next_waiting = 0;
            }
            let read = self.waiting[self.next_waiting];
            let source = p.src[read as usize];
            if self.executed(read) || self.indegree[read as usize] != 0 || self.executed(source) {
                self.is_waiting[read as usize] = false;
                self.waiting.swap_remove(self.next_waiting);
                continue;
            }
            looked += 1;
            self.next_waiting += 1;
            if self.may_execute(p, source) {
                let cost = self.hold_up(p, source, best.0);
                if cost < best.0 {
                    *best = (cost, source);
                    if cost == 0 {
                        break;
                    }
                }
            } else {
                blocked = blocked.min((read - p.thread_start[p.thread(read)], read));
            }
        }
        blocked.1
    }

    /// Is it a store that a decision can take?
    #[inline]
    pub(super) fn may_execute(&self, p: &Problem, store: u32) -> bool {
        if !p.grouped() {
            return self.piece_may_execute(p, store);
        }
        p.pieces(store).all(|piece| match p.src[piece as usize] {
            NONE => self.piece_may_execute(p, piece),
            // A store under a reservation beside others that are not.
            src => self.indegree[piece as usize] == 0 && self.executed(src) && self.pending[src as usize] == 1,
        })
    }

    #[inline]
    fn piece_may_execute(&self, p: &Problem, store: u32) -> bool {
        self.ready_prev[store as usize] != UNLISTED
            && self.pending[self.current[p.addr[store as usize] as usize] as usize] == 0
    }

    /// Stores of open addresses.
    fn look_at_open(&mut self, p: &Problem, best: &mut (u32, u32)) {
        let (mut looked, mut evaluated) = (0, 0);
        while looked < self.open.len() && evaluated < WINDOW {
            if self.cursor >= self.open.len() {
                self.cursor = 0;
            }
            let x = self.open[self.cursor] as usize;
            let head = self.ready_head[x];
            if head == NONE || self.pending[self.current[x] as usize] != 0 {
                self.is_open[x] = false;
                self.open.swap_remove(self.cursor);
                if best.1 == NONE {
                    // The address that takes its place may be one that was looked at, instead of one that was not.
                    looked = 0;
                }
                continue;
            }
            let mut store = head;
            while store != NONE {
                if p.grouped() && !self.may_execute(p, store) {
                    store = self.ready_next[store as usize];
                    continue;
                }
                let cost = self.hold_up(p, store, best.0);
                if cost < best.0 {
                    *best = (cost, store);
                    if cost == 0 {
                        return;
                    }
                }
                evaluated += 1;
                store = self.ready_next[store as usize];
            }
            looked += 1;
            self.cursor += 1;
        }
    }

    /// How long the address would be held up by this store: the largest distance of a reader from its thread's first read
    /// that has not executed. (Stores do not count: those in a store buffer hold nobody up.) Once it is `enough`, any
    /// number that is not less will do.
    fn hold_up(&mut self, p: &Problem, store: u32, enough: u32) -> u32 {
        if !p.grouped() {
            return self.hold_up_one(p, store, enough);
        }
        p.pieces(store).map(|piece| self.hold_up_one(p, piece, enough)).max().unwrap_or(0)
    }

    /// Would a reader of this write still wait, for something else?
    #[inline]
    fn is_held(&self, p: &Problem, reader: u32, write: u32) -> bool {
        if !p.grouped() {
            return self.indegree[reader as usize] != 0;
        }
        p.pieces(reader).any(|piece| {
            let src = p.src[piece as usize];
            let arrives = src == NONE || p.first(src) == p.first(write) || self.executed(src) || p.forwarded(piece);
            self.indegree[piece as usize] != 0 || !arrives
        })
    }

    fn hold_up_one(&mut self, p: &Problem, store: u32, enough: u32) -> u32 {
        let mut worst = 0;
        let mut write = store;
        // A read-modify-write that reads it holds the address up as well; look a little ahead.
        for _ in 0..AHEAD {
            let mut next = NONE;
            for &reader in p.readers(write).iter().take(WINDOW) {
                if self.executed(reader) {
                    continue;
                }
                if p.writes(reader) {
                    next = reader;
                }
                if self.is_held(p, reader, write) {
                    let front = &mut self.front[p.thread(reader)];
                    while self.place[*front as usize] != NONE || p.is_store(*front) {
                        *front += 1;
                    }
                    worst = worst.max(reader.saturating_sub(*front) + 1);
                    if worst >= enough {
                        return worst;
                    }
                }
            }
            if next == NONE {
                break;
            }
            write = next;
        }
        worst
    }
}
