//! How executions end: counted, blocked, cut off or periodic, and what the observer is told.
//!
//! Complexity: O(P) for each end; to look for a period costs the steps that it goes back and makes again.

use super::{Path, Worker};
use crate::end::{End, is_stirred, unchanged};
use crate::set::Set;
use crate::{Next, Observer, Program};

impl<P: Program, O: Observer, S: Set> Worker<P, O, S> {
    /// Looks for races of the blocking accesses that are disabled where an execution ends or is given up.
    pub(crate) fn blocked_races(&mut self, mut blocked: S) {
        if let Some(symmetry) = &self.symmetry {
            // Their leaders are blocked by the same.
            blocked &= !self.led(symmetry, blocked);
        }
        for thread in blocked.iter() {
            let waiting = self.program.waiting(thread);
            if !waiting.blocking && (self.mode.stops() || waiting.parked) {
                // It makes no more accesses, or the races of its next one have been seen to.
                continue;
            }
            let awaited = waiting.round[waiting.repeated];
            // A waiting read-modify-write, once it succeeds, may write.
            let Next::Access(access) = self.program.next(thread) else { continue };
            let own = (access.addr as usize, access.kind.may_write());
            let mut path = Path { known: &self.known, nodes: &mut self.nodes, above: &mut self.turns };
            self.races.at_end(thread, own, &awaited, &mut path);
        }
    }

    /// No thread can run, some of them because that would be in vain.
    pub(crate) fn end(&mut self, futile: S, preemptions: u32) {
        if self.long.is_some() {
            if self.mode.is_dpor() {
                self.blocked_races(self.ready);
            }
            let period = self.period();
            return self.cut(period, preemptions);
        }
        let blocked = self.ready;
        let mut dropped = false;
        if blocked.is_some() {
            let program = &self.program;
            dropped = futile.is_some()
                || blocked.iter().any(|thread| !unchanged(program, program.waiting(thread).round))
                || is_stirred(program, blocked);
            if self.mode.is_dpor() {
                self.blocked_races(blocked);
            }
        }
        if dropped {
            self.counts.blocked += 1;
            return;
        }
        for thread in blocked.iter() {
            if let Next::Access(access) = self.program.next(thread) {
                self.observer.tried(thread, access, &self.path);
            }
        }
        let end = End::waiting(&self.program, blocked);
        if !self.is_new(preemptions) {
            return;
        }
        if end == End::Dropped {
            self.counts.dropped += 1;
        } else {
            self.counts.executions += 1;
        }
        self.observer.end(end, &self.path);
        if end == End::Complete {
            self.observer.outcome(self.program.outcome(), &self.path);
        }
        self.faults();
    }

    /// Tells of the threads that cannot continue.
    pub(super) fn faults(&mut self) {
        for thread in 0..self.threads {
            if self.program.next(thread) == Next::Fault {
                let fault = self.program.fault(thread);
                self.observer.fault(thread, fault, &self.path);
            }
        }
    }

    /// Threads have made as many steps as they may, or the path is cyclic.
    #[cold]
    pub(super) fn cut(&mut self, period: Option<u32>, preemptions: u32) {
        if self.is_new(preemptions) {
            self.counts.cut += 1;
            self.counts.executions += 1;
            self.observer.end(End::Cut { period }, &self.path);
            self.faults();
        }
    }

    /// How many steps ago the program was in the state it is in now, if every thread that can run has run since.
    #[cold]
    pub(super) fn period(&mut self) -> Option<u32> {
        let (mut now, mut before) = (Vec::new(), Vec::new());
        self.program.state(&mut now);
        let enabled = self.enabled() | self.long;
        let (mut ran, mut found) = (S::NONE, None);
        let mut steps = 0;
        while steps < self.path.len() {
            self.program.undo();
            steps += 1;
            ran |= S::one(self.path[self.path.len() - steps].thread());
            before.clear();
            self.program.state(&mut before);
            if before == now && (enabled & !ran).is_none() {
                found = Some(steps as u32);
                break;
            }
        }
        for &step in &self.path[self.path.len() - steps..] {
            self.program.repeat(step);
        }
        found
    }
}
