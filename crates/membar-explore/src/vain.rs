//! Accesses that close a round in vain: found by making them, and taken back.
//!
//! # Problem
//!
//! Dpor does not run idle rounds that have found two values at one address ([`crate::tree`], "Rounds in vain", says why that is
//! right). Whether an access closes such a round shows only when it has been made.
//!
//! # Algorithm
//!
//! 1. A thread that has just made steps and now waits is examined: has its round found two values at one address?
//! 2. If so, the last of these steps is noted like any other, with its races and for the observer, and taken back. The thread is
//!    *futile* in the state before it, until somebody writes to the address of that access.
//! 3. If it was the only step, the node that the thread was to be run from gets another thread instead. If there is none, the
//!    execution ends there, or has been explored elsewhere.
//!
//! # Invariants
//!
//! A futile thread stands before an access that is in vain with the value that its address has now. No node has a futile thread in
//! `enabled`.
//!
//! # Complexity
//!
//! O(r²) for a round of r reads, of which there are at most [`MAX_ROUND`]; nothing for threads that do not wait. A step costs O(f) while f
//! threads are futile.
//!
//! # Deviations
//!
//! A longer round is not examined, so it is run like any other idle round: its executions are blocked at their end. That is
//! right as well, since the length depends on nothing but the thread's past and the values that it read.

use crate::node::Node;
use crate::set::Set;
use crate::worker::{Path, Worker};
use crate::{Awaited, Next, Observer, Program, Step};
use membar_core::Performed;

/// The most reads of a round that are compared with each other: with more, that would cost more than it saves.
const MAX_ROUND: usize = 64;

impl<P: Program, O: Observer, S: Set> Worker<P, O, S> {
    /// Whether the thread has just made a round in vain: it has found two values at one address.
    #[cold]
    pub(crate) fn is_in_vain(&self, thread: usize) -> bool {
        let waiting = self.program.waiting(thread);
        if !self.mode.stops() || waiting.blocking || waiting.parked || waiting.round.len() > MAX_ROUND {
            return false;
        }
        let differs =
            |(i, a): (usize, &Awaited)| waiting.round[..i].iter().any(|b| a.addr == b.addr && a.value != b.value);
        waiting.round.iter().enumerate().any(differs)
    }

    /// Notes the races of an access that has been made in vain, shows it to the observer and takes it back.
    #[cold]
    pub(crate) fn try_in_vain(&mut self, step: Step, performed: &Performed, awaited: Option<Awaited>) {
        let decree = self.decree(step.thread());
        let mut path = Path { known: &self.known, nodes: &mut self.nodes, above: &mut self.turns };
        self.races.push(performed, awaited, decree, &mut path);
        self.made(step, performed);
        self.counts.events += 1;
        self.back();
    }

    /// Those of the threads whose next accesses would still be in vain after this step.
    #[cold]
    pub(crate) fn still_futile(&self, futile: S, performed: &Performed) -> S {
        if !performed.writes {
            return futile;
        }
        let at = |&thread: &usize| match self.program.next(thread) {
            Next::Access(access) => access.addr == performed.access.addr,
            _ => true,
        };
        futile.iter().filter(at).fold(futile, |left, thread| left & !S::one(thread))
    }

    /// The thread that was to be run from this node, where the path ends, cannot: another one is, if there is one.
    #[cold]
    pub(crate) fn instead(&mut self, bit: S, from: &Node<S>) {
        let enabled = self.enabled() & !from.futile & !bit;
        let others = enabled & !from.asleep;
        match self.nodes.last_mut() {
            Some(node) => {
                node.replace(bit, others);
            }
            None => self.instead = Some(others.many()),
        }
        if (from.todo & !from.futile & !bit).is_none() && others.is_none() {
            if enabled.is_none() {
                self.end(from.futile | bit, from.preemptions);
            } else {
                self.counts.redundant += 1;
                self.blocked_races(self.ready & !enabled);
            }
        }
    }
}
