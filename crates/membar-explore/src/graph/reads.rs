//! Reads and choices: what a read may read from, and accesses that wait.

use super::along::stand;
use super::frame::{By, Came, Way};
use super::graph::{Event, INIT, Made, Ran, What};
use super::models;
use super::search::Graphs;
use crate::{Awaited, Next, Observer, Program};
use membar_core::{Access, AccessKind};

impl<P: Program, O: Observer> Graphs<P, O> {
    /// Lists the ways for a thread's next access, which reads, to go on.
    pub(super) fn list_sources(&mut self, thread: usize, access: &Access, blocking: Option<Awaited>) {
        let addr = access.addr;
        let index = self.graph.threads[thread].len() as u32;
        let (from, end) = (self.ways.len(), self.graph.co(addr).len());
        // The last one first: that is what happens most.
        for at in (0..=end).rev() {
            let source = if at == 0 { INIT } else { self.graph.co(addr)[at - 1] };
            if blocking.is_some_and(|awaited| !self.is_open(&awaited, thread, index, u32::MAX, source)) {
                continue;
            }
            // The order of arrivals does not matter: the last place among them will do.
            let next = self.graph.co(addr).get(at);
            if access.arrives() && next.is_some_and(|&next| self.graph.event(next).access.arrives()) {
                continue;
            }
            let read = self.read(thread, access, source);
            if at < end && !self.is_admitted(read) {
                // Sources that are earlier have more writes after them. The order of an access that may fail depends on its source.
                if access.kind == AccessKind::Load {
                    break;
                }
                continue;
            }
            match self.rival(&read) {
                Some(rival) => {
                    // What is revisited deletes the rival, or is it.
                    let stamp = self.graph.event(rival).stamp;
                    self.list_revisits(&read, |read, at| (at <= stamp).then_some(Way::Instead(source, read)));
                }
                None => self.ways.push(Way::From(source)),
            }
        }
        let last = self.graph.last(addr);
        let shut = |awaited: Awaited| !self.is_open(&awaited, thread, index, u32::MAX, last);
        if self.ways.len() > from && blocking.is_some_and(shut) {
            self.ways.push(Way::Wait);
        }
    }

    /// The read of another read-modify-write that writes right after what this one would.
    pub(super) fn rival(&self, read: &Event) -> Option<u32> {
        if !read.access.writes_on(read.value) {
            return None;
        }
        self.graph.places[read.access.addr as usize].reads.iter().copied().find(|&other| {
            let other = self.graph.event(other);
            other.paired && other.source == read.source && other.thread != read.thread
        })
    }

    /// The thread's next access, reading from there.
    pub(super) fn read(&self, thread: usize, access: &Access, source: u32) -> Event {
        let value = self.graph.value(access.addr, source);
        let order = access.order(access.writes_on(value));
        Event { order, value, source, ..self.event(thread, What::Read, *access) }
    }

    /// Whether the graph with one more event, not a write, is consistent.
    pub(super) fn is_admitted(&mut self, event: Event) -> bool {
        let id = self.graph.push(event, 0, self.model);
        let admitted = models::admits(self.model, &self.graph, id, &mut self.reach);
        self.graph.pop();
        admitted
    }

    pub(super) fn take_next(&mut self, thread: usize, way: Way) -> Came {
        let Next::Access(access) = self.stands(thread).next else { return Came::Nowhere };
        match way {
            Way::From(source) => self.make_read(self.read(thread, &access, source)),
            Way::Instead(source, revisited) => {
                let update = self.read(thread, &access, source);
                self.revisit(By::Update(update), revisited);
                Came::Revisits
            }
            Way::Wait => {
                self.add(self.event(thread, What::Wait, access), Ran::NOT, 0);
                Came::On
            }
            Way::Choose(outcome) => {
                self.take_choice(thread, access, outcome);
                Came::On
            }
            Way::At(_) | Way::Revisit(_) => Came::Nowhere,
        }
    }

    /// Makes a read and adds it.
    pub(super) fn make_read(&mut self, event: Event) -> Came {
        let (thread, addr, source) = (event.thread as usize, event.access.addr, event.source);
        self.sync();
        let (performed, made) = self.make(thread, event.value, self.is_dead(source));
        let last = self.graph.last(addr);
        let is_last = performed.writes && source == last;
        let left = if is_last { performed.new } else { self.graph.value(addr, last) };
        self.program.leave(addr, left);
        let after = stand(&self.program, thread);
        let event = Event { order: performed.order(), paired: performed.writes, ..event };
        let ran = Ran { after, made: Some(Made { left, ..made }), wrote: performed.new };
        let id = self.add(event, ran, 0);
        self.look(thread);
        self.race(id);
        match after.idle {
            Some(reads) if self.is_in_vain(thread, reads) => Came::Nowhere,
            _ => Came::On,
        }
    }

    /// Whether the thread has gone round a waiting loop of this many reads in which it missed a write that was there.
    pub(super) fn is_in_vain(&self, thread: usize, reads: u32) -> bool {
        let events = self.graph.threads[thread].iter().rev();
        events.map(|&id| self.graph.event(id)).filter(|event| event.is_read()).take(reads as usize).any(|read| {
            let addr = read.access.addr;
            let later = &self.graph.co(addr)[self.graph.position(addr, read.source)..];
            later.iter().any(|&write| self.graph.event(write).stamp < read.stamp)
        })
    }

    pub(super) fn take_choice(&mut self, thread: usize, access: Access, outcome: u32) {
        self.sync();
        self.program.choose(thread, outcome);
        self.serial += 1;
        self.made.push(self.serial);
        let made = Made { serial: self.serial, found: 0, dead: false, left: 0 };
        let ran = Ran { after: stand(&self.program, thread), made: Some(made), wrote: 0 };
        let event = Event { value: u64::from(outcome), ..self.event(thread, What::Choice, access) };
        self.add(event, ran, 0);
        self.look(thread);
    }
}
