//! Writes: where they may stand in co.

use super::along::stand;
use super::frame::{Frame, Kind, Writing};
use super::graph::{Event, INIT, What};
use super::models;
use super::search::Graphs;
use crate::{Observer, Program};
use membar_core::Access;

impl<P: Program, O: Observer> Graphs<P, O> {
    /// Where in co a write may stand, the last place first.
    pub(super) fn places(&mut self, event: &Event) -> Vec<usize> {
        let addr = event.access.addr;
        let end = self.graph.co(addr).len();
        let mut places = Vec::new();
        for at in (0..=end).rev() {
            if !self.graph.is_gap(addr, at) {
                continue;
            }
            let id = self.graph.push(*event, at, self.model);
            if at == end || models::admits(self.model, &self.graph, id, &mut self.reach) {
                places.push(at);
            }
            self.graph.pop();
        }
        places
    }

    /// The write of a read-modify-write has one place, unless that is taken.
    pub(super) fn place_of_update(&mut self, event: &Event) -> Vec<usize> {
        let addr = event.access.addr;
        let read = self.graph.threads[event.thread as usize].last().map_or(INIT, |&read| self.graph.event(read).source);
        let at = self.graph.position(addr, read);
        if !self.graph.is_gap(addr, at) {
            return Vec::new();
        }
        let id = self.graph.push(*event, at, self.model);
        let admitted = models::admits(self.model, &self.graph, id, &mut self.reach);
        self.graph.pop();
        if admitted { vec![at] } else { Vec::new() }
    }

    /// The write of a read-modify-write whose read is the last event of its thread.
    pub(super) fn update_of(&self, read: &Event) -> Event {
        Event {
            value: read.wrote,
            order: read.order,
            paired: true,
            after: read.after,
            ..self.event(read.thread as usize, What::Write, read.access)
        }
    }

    pub(super) fn open_store(&mut self, thread: usize, access: Access) {
        let addr = access.addr;
        self.know(addr);
        self.sync();
        let last = self.graph.last(addr);
        let (found, dead) = (self.graph.value(addr, last), self.is_dead(last));
        let (performed, made) = self.make(thread, found, dead);
        let (value, order) = (performed.new, performed.order());
        self.program.leave(addr, value);
        let event = Event {
            value,
            order,
            after: stand(&self.program, thread),
            made: Some(made),
            access: performed.access,
            ..self.event(thread, What::Write, access)
        };
        self.open_write(event);
    }

    pub(super) fn open_write(&mut self, event: Event) {
        let places = if event.paired { self.place_of_update(&event) } else { self.places(&event) };
        let depth = self.graph.len();
        let kind = Kind::Write(Box::new(Writing { event, places, revisits: None }));
        self.frames.push(Frame { depth, taken: 0, kind });
    }

    pub(super) fn take_write(&mut self, mut event: Event, at: usize) {
        let addr = event.access.addr;
        if let Some(made) = &mut event.made {
            let co = self.graph.co(addr);
            let dead = at > 0 && self.is_dead(co[at - 1]);
            let left = if at == co.len() { event.value } else { self.graph.value(addr, self.graph.last(addr)) };
            if (dead, left) != (made.dead, made.left) {
                self.serial += 1;
                let again = dead != made.dead;
                (made.serial, made.dead, made.left) = (self.serial, dead, left);
                let id = self.add(event, at);
                if again {
                    self.sync();
                    self.graph.events[id as usize].after = stand(&self.program, event.thread as usize);
                }
                self.look(event.thread as usize);
                return self.race(id);
            }
        }
        let id = self.add(event, at);
        if !event.paired {
            self.look(event.thread as usize);
        }
        self.race(id);
    }
}
