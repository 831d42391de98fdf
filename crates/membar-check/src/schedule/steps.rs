//! One step forwards and one back: what may execute without a decision, its effects, and how they are undone.
//!
//! `todo` holds what an event may have made executable; [`Scheduler::settle`] empties it, so that the state is quiescent again. An execution
//! tells its successors, the readers of what it wrote, and, if it was the last reader of a value, the stores that waited for that. Going
//! back takes the order apart from its end, and then drops the edges of the decisions that are undone.
//!
//! Invariants: those of the parent module. Stores that are ready and wait are linked by address (`ready_head`, `ready_next`, `ready_prev`); an
//! address that is not in `open` has none that may execute.
//!
//! Complexity: O(1 + its edges) for each execution, and the same to undo it; [`Scheduler::unlock`] looks at each store that waits at the
//! address.

use super::edges::DynEdge;
use super::{Choice, Scheduler, Time, UNLISTED};
use crate::problem::{NONE, Problem};

impl Scheduler {
    #[inline]
    pub(super) fn executed(&self, node: u32) -> bool {
        self.place[node as usize] != NONE
    }

    /// Executes everything that can be executed without a decision.
    pub(super) fn settle(&mut self, p: &Problem) {
        while let Some(node) = self.todo.pop() {
            if self.executed(node) || self.indegree[node as usize] != 0 {
                continue;
            }
            let src = p.src[node as usize];
            if p.grouped() && p.pieces(node).count() > 1 {
                if self.goes_by_itself(p, node) {
                    self.execute_all(p, node);
                } else if src != NONE {
                    if !self.executed(src) {
                        self.wait(node);
                    }
                } else if p.writes(node) {
                    let x = p.addr[node as usize];
                    self.list(node, x);
                    if self.pending[self.current[x as usize] as usize] == 0 {
                        self.open(x);
                    }
                }
                continue;
            }
            if !p.writes(node) {
                if src == NONE || self.executed(src) || p.forwarded(node) {
                    self.execute(p, node);
                } else {
                    self.wait(node);
                }
            } else if src != NONE {
                if !self.executed(src) {
                    self.wait(node);
                } else if self.pending[src as usize] == 1 {
                    self.execute(p, node);
                }
            } else {
                let x = p.addr[node as usize];
                let free = self.pending[self.current[x as usize] as usize] == 0;
                if free && self.pending[node as usize] == 0 && !self.named(node) {
                    self.unlist(p, node);
                    self.execute(p, node);
                } else {
                    self.list(node, x);
                    if free {
                        self.open(x);
                    }
                }
            }
        }
    }

    /// Executes an access, with all its pieces.
    pub(super) fn execute_all(&mut self, p: &Problem, node: u32) {
        for piece in p.pieces(node) {
            if p.is_store(piece) {
                self.unlist(p, piece);
            }
            self.execute(p, piece);
        }
    }

    /// Would [`Scheduler::settle`] execute it, with the other pieces of its access, if it came by? (What it asks, once more, for
    /// the invariant's sake.)
    pub(super) fn goes_by_itself(&self, p: &Problem, node: u32) -> bool {
        p.pieces(node).all(|piece| self.piece_goes_by_itself(p, piece))
    }

    pub(super) fn piece_goes_by_itself(&self, p: &Problem, node: u32) -> bool {
        let (i, src) = (node as usize, p.src[node as usize]);
        let arrived = src != NONE && self.executed(src);
        let may = match p.writes(node) {
            false => src == NONE || arrived || p.forwarded(node),
            true if src != NONE => arrived && self.pending[src as usize] == 1,
            true => {
                let free = self.pending[self.current[p.addr[i] as usize] as usize] == 0;
                free && self.pending[i] == 0 && !self.named(node)
            }
        };
        may && !self.executed(node) && self.indegree[i] == 0
    }

    /// Is it the first store of a guess of some conflict?
    #[inline]
    pub(super) fn named(&self, store: u32) -> bool {
        self.named.get(store as usize).is_some_and(|&named| named)
    }

    #[inline]
    pub(super) fn open(&mut self, x: u32) {
        if !self.is_open[x as usize] {
            self.is_open[x as usize] = true;
            self.open.push(x);
        }
    }

    #[inline]
    pub(super) fn list(&mut self, store: u32, x: u32) {
        let i = store as usize;
        if self.ready_prev[i] == UNLISTED {
            let head = self.ready_head[x as usize];
            self.ready_next[i] = head;
            self.ready_prev[i] = NONE;
            if head != NONE {
                self.ready_prev[head as usize] = store;
            }
            self.ready_head[x as usize] = store;
        }
    }

    #[inline]
    pub(super) fn unlist(&mut self, p: &Problem, store: u32) {
        let i = store as usize;
        let (prev, next) = (self.ready_prev[i], self.ready_next[i]);
        if prev == UNLISTED {
            return;
        }
        if prev == NONE {
            self.ready_head[p.addr[i] as usize] = next;
        } else {
            self.ready_next[prev as usize] = next;
        }
        if next != NONE {
            self.ready_prev[next as usize] = prev;
        }
        self.ready_prev[i] = UNLISTED;
    }

    pub(super) fn execute(&mut self, p: &Problem, node: u32) {
        let i = node as usize;
        self.place[i] = self.order.len() as u32;
        self.order.push(node);
        for &next in p.succ(node) {
            let left = &mut self.indegree[next as usize];
            *left -= 1;
            if *left == 0 {
                self.todo.push(next);
            }
        }
        let mut edge = self.dyn_succ[i];
        while edge != NONE {
            let DynEdge { to, next_succ, .. } = self.dyn_edges[edge as usize];
            let left = &mut self.indegree[to as usize];
            *left -= 1;
            if *left == 0 {
                self.todo.push(to);
            }
            edge = next_succ;
        }
        let src = p.src[i];
        if src != NONE {
            self.pending[src as usize] -= 1;
            match self.pending[src as usize] {
                0 if !p.writes(node) => self.unlock(p.addr[i]),
                1 => {
                    let rmw = p.rmw_reader[src as usize];
                    if rmw != NONE && self.executed(src) {
                        self.todo.push(rmw);
                    }
                }
                _ => {}
            }
        }
        if p.partial && p.writes_data(node) {
            let readers = p.readers(node);
            self.todo.extend(readers.iter().filter(|&&r| self.indegree[r as usize] == 0));
        }
        if p.writes(node) {
            let x = p.addr[i] as usize;
            self.overwritten[i] = self.current[x];
            self.current[x] = node;
            if self.pending[i] == 0 {
                self.unlock(x as u32);
            } else {
                let readers = p.readers(node);
                self.todo.extend(readers.iter().filter(|&&r| self.indegree[r as usize] == 0));
            }
        }
    }

    /// Nobody needs the current value of `x` any more (if it is the one that `x` was waiting with).
    pub(super) fn unlock(&mut self, x: u32) {
        if self.pending[self.current[x as usize] as usize] != 0 {
            return;
        }
        let mut store = self.ready_head[x as usize];
        if store != NONE {
            self.open(x);
        }
        while store != NONE {
            if self.pending[store as usize] == 0 {
                self.todo.push(store);
            }
            store = self.ready_next[store as usize];
        }
    }

    /// Back to the state just before the decision made at this time.
    pub(super) fn undo(&mut self, p: &Problem, time: Time) {
        debug_assert!(self.todo.is_empty());
        self.leave_path(p);
        let length = (time.0 as usize - 2) / 2;
        let undone = if cfg!(debug_assertions) { self.order[length..].to_vec() } else { Vec::new() };
        while self.order.len() > length {
            let node = self.order.pop().expect("longer than length");
            let i = node as usize;
            self.place[i] = NONE;
            for &next in p.succ(node) {
                self.block(p, next);
            }
            let mut edge = self.dyn_succ[i];
            while edge != NONE {
                let DynEdge { to, next_succ, .. } = self.dyn_edges[edge as usize];
                self.block(p, to);
                edge = next_succ;
            }
            let src = p.src[i];
            if src != NONE {
                self.wait(node);
                self.pending[src as usize] += 1;
                if let Some(first) = self.first_reader.get_mut(src as usize) {
                    *first = p.reader_start[src as usize];
                }
            }
            if i < p.ops {
                let t = p.thread(node);
                self.front[t] = self.front[t].min(node);
            }
            if p.writes(node) {
                let x = p.addr[i];
                self.current[x as usize] = self.overwritten[i];
                if src == NONE {
                    self.list(node, x);
                }
                self.open(x);
            } else if src != NONE {
                self.open(p.addr[i]);
            }
        }
        debug_assert!(!undone.iter().any(|&node| self.goes_by_itself(p, node)), "the state was not quiescent");
        while let Some(&(level, edge)) = self.conditional.peek()
            && level >= time
        {
            self.conditional.pop();
            self.drop_edge(edge);
        }
        while let Some(choice) = self.choices.last()
            && (2 * choice.length + 2, self.choices.len() as u32 - 1) >= time
        {
            let Choice { guess, edge, .. } = *choice;
            self.choices.pop();
            self.choice_of.remove(&guess);
            self.drop_edge(edge);
        }
    }
}
