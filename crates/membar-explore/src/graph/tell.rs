//! What the observer is told: faults, data races and how executions end.

use super::graph::{After, Event, Graph, What};
use super::models;
use super::search::Graphs;
use crate::end::{End, is_stirred, unchanged};
use crate::set::{Many, Set};
use crate::{Fault, FaultKind, Next, Observer, Program, WeakExecution};
use membar_core::WeakStep;

impl<P: Program, O: Observer> Graphs<P, O> {
    /// Graphs have whole addresses: what a part of one is, nobody knows here.
    #[cold]
    pub(super) fn tell_of_part(&mut self, thread: usize) {
        let message =
            "accesses a part of what is one object to others; executions of the model with such accesses are not run";
        let graph = &self.graph;
        let fault = Fault { kind: FaultKind::Limit, ..Fault::error(message) };
        self.observer.weak_fault(thread, fault, graph);
    }

    /// Tells of a thread that cannot continue.
    pub(super) fn look(&mut self, thread: usize) {
        if self.again || self.stands(thread).next != Next::Fault {
            return;
        }
        self.sync();
        let (fault, graph) = (self.program.fault(thread), &self.graph);
        self.observer.weak_fault(thread, fault, graph);
    }

    /// Looks for data races of the event.
    pub(super) fn race(&mut self, id: u32) {
        if !self.races || self.again {
            return;
        }
        let (graph, event) = (&self.graph, self.graph.event(id));
        let place = &graph.places[event.access.addr as usize];
        let mut found = None;
        for &other in place.co.iter().chain(&place.reads) {
            let earlier = graph.event(other);
            if earlier.thread != event.thread
                && conflict(earlier, event)
                && !models::c11::happens_before(graph, other, id)
            {
                found = Some(earlier.access.site);
                break;
            }
        }
        if let Some(earlier) = found {
            let site = event.access.site;
            self.observer.weak_race((earlier.min(site), earlier.max(site)), graph);
        }
    }

    /// No event can be added.
    pub(super) fn end(&mut self) {
        if self.program.is_void() {
            return;
        }
        self.sync();
        let (mut waiting, mut cut, mut dropped) = (Many::NONE, false, false);
        for thread in 0..self.begin.len() {
            match *self.stands(thread) {
                After { next: Next::Long, .. } => cut = true,
                After { next: Next::Access(access), blocking, idle } => {
                    if idle.is_some() {
                        dropped |= !unchanged(&self.program, self.program.waiting(thread).round);
                    } else if let Some(awaited) = blocking {
                        let known = self.graph.place(access.addr).is_some_and(|place| place.init.is_some());
                        dropped |= known && !self.is_stuck(&awaited, thread);
                    } else {
                        cut = true;
                    }
                    waiting |= Many::one(thread);
                }
                After { next: Next::Done | Next::Fault, .. } => {}
            }
        }
        let sc = self.graph.sc.last().is_none_or(|&sc| sc);
        let graph = &self.graph;
        if cut {
            self.counts.cut += 1;
            self.counts.executions += 1;
            return self.observer.weak_end(End::Cut { period: None }, sc, graph);
        }
        if dropped || is_stirred(&self.program, waiting) {
            self.counts.blocked += 1;
            return;
        }
        let end = End::waiting(&self.program, waiting);
        if end == End::Dropped {
            self.counts.dropped += 1;
        } else {
            self.counts.executions += 1;
            self.counts.not_sc += u64::from(!sc);
        }
        self.observer.weak_end(end, sc, graph);
        if end == End::Complete {
            self.observer.weak_outcome(self.program.outcome(), graph);
        }
    }
}

/// Whether two accesses to one address race if nothing orders them.
pub(super) fn conflict(one: &Event, other: &Event) -> bool {
    let departs = |event: &Event| event.access.c11.meets() && event.is_read();
    let sync = |event: &Event| event.access.c11.is_fresh() && event.order.is_atomic();
    let plain = |event: &Event| !event.order.is_atomic();
    let life = |event: &Event| event.access.c11.is_fresh() && plain(event);
    if departs(one) || departs(other) {
        return false;
    }
    if sync(one) || sync(other) {
        return life(one) || life(other);
    }
    (one.is_write() || other.is_write() || life(one) || life(other)) && (plain(one) || plain(other))
}

impl WeakExecution for Graph {
    fn len(&self) -> usize {
        self.steps.len()
    }

    fn steps(&self) -> Vec<WeakStep> {
        let step = |&id: &u32| {
            let event = self.event(id);
            let addr = event.access.addr;
            let behind = |from: usize| self.co(addr)[from..].iter().filter(|&&write| write < id).count() as u32;
            let (choice, behind) = match event.what {
                What::Read => (None, behind(self.position(addr, event.source))),
                What::Write => (None, behind(self.position(addr, id))),
                What::Choice | What::Wait => (Some(event.value), 0),
            };
            WeakStep { thread: event.thread, choice, behind }
        };
        self.steps.iter().map(step).collect()
    }

    fn missed(&self) -> Vec<(u32, u32)> {
        let (mut missed, knots) = (Vec::new(), models::knots(self));
        for (id, event) in self.events.iter().enumerate() {
            let (id, addr) = (id as u32, event.access.addr);
            let later = match event.what {
                What::Read => &self.co(addr)[self.position(addr, event.source)..],
                What::Write => &self.co(addr)[self.position(addr, id)..],
                What::Choice | What::Wait => continue,
            };
            for &write in later.iter().filter(|&&write| self.event(write).thread != event.thread) {
                let pair = (event.access.site, self.event(write).access.site);
                if knots[write as usize] == knots[id as usize] && !missed.contains(&pair) {
                    missed.push(pair);
                }
            }
        }
        missed.sort_unstable();
        missed
    }
}
