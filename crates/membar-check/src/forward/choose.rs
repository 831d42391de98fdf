//! Which store executes next: steps 2 and 3 of [`super`].
//!
//! The goal is the first read of the thread that has come least far, or that was recorded first; a walk from it ends at what has to happen.
//!
//! Invariant: the goal has not executed; taking something back forgets it. Complexity: O([`LOOKS`]) estimates and a walk for each
//! decision, and O(threads) for a new goal.

use super::{End, FAR, Forward, Hint, Wait};
use crate::problem::NONE;

/// Ready stores that a decision looks at.
const LOOKS: usize = 64;

impl Forward<'_> {
    pub(super) fn choose(&mut self) -> End {
        if self.goal == NONE || self.executed(self.goal) {
            self.goal = if self.order.len() < self.astray { self.any_goal() } else { self.next_goal() };
        }
        let mut best = (FAR, NONE);
        let mut first = (FAR, NONE);
        let mut looked = 0;
        while looked < self.ready.len().min(LOOKS) {
            if self.cursor >= self.ready.len() {
                self.cursor = 0;
            }
            let store = self.ready[self.cursor];
            let i = store as usize;
            if self.executed(store) || self.indegree[i] != 0 {
                self.is_ready[i] = false;
                self.ready.swap_remove(self.cursor);
                continue;
            }
            self.cursor += 1;
            looked += 1;
            if !self.finds_value(store) || !matches!(self.held_by(store), Wait::May) {
                continue;
            }
            if self.hint == Hint::Eager {
                first = first.min((self.when[i], store));
                continue;
            }
            let hold = self.hold(store);
            if hold == 0 {
                match self.when.get(i) {
                    Some(&when) => first = first.min((when, store)),
                    None => return End::Store(store),
                }
            }
            let wanted = self.writes[i] != NONE && !self.waiting[self.writes[i] as usize].is_empty();
            if wanted && hold < best.0 {
                best = (hold, store);
            }
        }
        if first.1 != NONE && first.0 <= self.now() {
            return End::Store(first.1);
        }
        match self.walk(self.goal) {
            End::Store(store) if best.1 != NONE && self.hold(store) >= best.0 => End::Store(best.1),
            end => end,
        }
    }

    /// When the operation was recorded that is to be executed.
    pub(super) fn now(&self) -> u32 {
        self.when.get(self.goal as usize).copied().unwrap_or(0)
    }

    /// The first operation of a random thread.
    fn any_goal(&mut self) -> u32 {
        self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let t = (self.random >> 33) as usize % self.front.len();
        let front = self.front(t);
        if front < self.p.thread_start[t + 1] { front } else { self.next_goal() }
    }

    /// The first operation of the thread that has come least far.
    fn next_goal(&mut self) -> u32 {
        let mut best = (f64::INFINITY, NONE);
        for t in 0..self.front.len() {
            let (start, end) = (self.p.thread_start[t], self.p.thread_start[t + 1]);
            let front = self.front(t);
            if front < end {
                let far = match self.when.get(front as usize) {
                    Some(&when) => f64::from(when),
                    None => f64::from(front - start) / f64::from(end - start),
                };
                if far < best.0 {
                    best = (far, front);
                }
            }
        }
        if best.1 == NONE {
            // Only stores are left.
            let ready = &self.ready;
            best.1 = ready.iter().copied().find(|&node| !self.executed(node)).unwrap_or(NONE);
        }
        best.1
    }
}
