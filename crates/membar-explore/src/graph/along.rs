//! Runs the program along with the graph.
//!
//! Events are in an order that extends po ∪ rf; a revisited read moves to the end of it. A thread's next action depends
//! on nothing but what it has read, so the program is run in that order, and each access finds what the graph says,
//! stale values included ([`crate::Program::step_finding`]). After each step memory holds the last write in co. When
//! the graph has changed, the steps that it does not share with the steps that were run are taken back.

use super::graph::{After, INIT, Made, What};
use super::search::Graphs;
use crate::{Observer, Program};
use membar_core::Performed;

impl<P: Program, O: Observer> Graphs<P, O> {
    /// How the thread stands.
    #[inline]
    pub(super) fn stands(&self, thread: usize) -> &After {
        match self.graph.threads[thread].last() {
            None => &self.begin[thread],
            Some(&last) => &self.graph.ran[last as usize].after,
        }
    }

    /// Finds out about the initial value of an address.
    pub(super) fn know(&mut self, addr: u32) {
        if self.graph.place(addr).and_then(|place| place.init).is_none() {
            self.sync();
            let value = self.program.memory(addr);
            self.graph.place_mut(addr).init = Some(value);
        }
    }

    /// Whether what this write left there has come to its end.
    pub(super) fn is_dead(&self, source: u32) -> bool {
        source != INIT && self.graph.event(source).access.c11.ends()
    }

    /// Lets the program make a step, which finds this.
    pub(super) fn make(&mut self, thread: usize, found: u64, dead: bool) -> (Performed, Made) {
        let performed = self.program.step_finding(thread, found, dead);
        self.serial += 1;
        self.made.push(self.serial);
        self.counts.events += u64::from(!self.again);
        (performed, Made { serial: self.serial, found, dead, left: performed.new })
    }

    /// Takes the program to where the graph is.
    pub(super) fn sync(&mut self) {
        let shared = self.graph.shared;
        for _ in shared..self.made.len() {
            self.program.undo();
        }
        self.made.truncate(shared);
        for at in shared..self.graph.steps.len() {
            let id = self.graph.steps[at];
            let (event, Some(made)) = (self.graph.event(id), self.graph.ran[id as usize].made) else { continue };
            if event.what == What::Choice {
                self.program.choose(event.thread as usize, event.value as u32);
            } else {
                self.program.step_finding(event.thread as usize, made.found, made.dead);
                self.program.leave(event.access.addr, made.left);
            }
            self.made.push(made.serial);
        }
        self.graph.shared = self.graph.steps.len();
    }
}

/// How a thread of the program stands.
pub(super) fn stand(program: &impl Program, thread: usize) -> After {
    let next = program.next(thread);
    let waiting = program.waiting(thread);
    let mut after = After { next, blocking: None, idle: None };
    if waiting.blocking {
        after.blocking = waiting.round.get(waiting.repeated).copied();
    } else if !waiting.round.is_empty() {
        after.idle = Some(if waiting.parked { 0 } else { waiting.round.len() as u32 });
    }
    after
}
