//! Writes: where they may stand in co.

use super::along::stand;
use super::frame::{Kind, Way};
use super::graph::{Event, INIT, Ran, What};
use super::models;
use super::search::Graphs;
use crate::{Observer, Program};
use membar_core::Access;

impl<P: Program, O: Observer> Graphs<P, O> {
    /// Lists where in co a write may stand, the last place first.
    pub(super) fn list_places(&mut self, event: &Event) {
        if event.paired {
            let place = self.place_of_update(event).map(|at| Way::At(at as u32));
            return self.ways.extend(place);
        }
        let addr = event.access.addr;
        let end = self.graph.co(addr).len();
        self.ways.push(Way::At(end as u32));
        for at in (0..end).rev() {
            if !self.graph.is_gap(addr, at) {
                continue;
            }
            let id = self.graph.push(*event, at, self.model);
            let admitted = models::admits(self.model, &self.graph, id, &mut self.reach);
            self.graph.pop();
            // An earlier place has more writes after it.
            if !admitted {
                break;
            }
            self.ways.push(Way::At(at as u32));
        }
    }

    /// The write of a read-modify-write has one place, unless that is taken.
    pub(super) fn place_of_update(&mut self, event: &Event) -> Option<usize> {
        let addr = event.access.addr;
        let read = self.graph.threads[event.thread as usize].last().map_or(INIT, |&read| self.graph.event(read).source);
        let at = self.graph.position(addr, read);
        if !self.graph.is_gap(addr, at) {
            return None;
        }
        if at == self.graph.co(addr).len() {
            return Some(at);
        }
        let id = self.graph.push(*event, at, self.model);
        let admitted = models::admits(self.model, &self.graph, id, &mut self.reach);
        self.graph.pop();
        admitted.then_some(at)
    }

    /// The write of a read-modify-write whose read is the last event of its thread.
    pub(super) fn update_of(&self, read: u32) -> (Event, Ran) {
        let (read, ran) = (self.graph.event(read), self.graph.ran[read as usize]);
        let write = self.event(read.thread as usize, What::Write, read.access);
        let event = Event { value: ran.wrote, order: read.order, paired: true, ..write };
        (event, Ran { made: None, wrote: 0, ..ran })
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
        let event = Event { value, order, access: performed.access, ..self.event(thread, What::Write, access) };
        let ran = Ran { after: stand(&self.program, thread), made: Some(made), wrote: 0 };
        self.open_write(event, ran);
    }

    pub(super) fn open_write(&mut self, event: Event, ran: Ran) {
        let from = self.ways.len();
        self.list_places(&event);
        self.offer(from, Kind::Write { event, ran, revisits: false });
    }

    pub(super) fn take_write(&mut self, event: Event, mut ran: Ran, at: usize) {
        let (thread, addr) = (event.thread as usize, event.access.addr);
        if let Some(made) = &mut ran.made {
            let co = self.graph.co(addr);
            let dead = at > 0 && self.is_dead(co[at - 1]);
            let left = if at == co.len() { event.value } else { self.graph.value(addr, self.graph.last(addr)) };
            if (dead, left) != (made.dead, made.left) {
                self.serial += 1;
                let again = dead != made.dead;
                (made.serial, made.dead, made.left) = (self.serial, dead, left);
                let id = self.add(event, ran, at);
                if again {
                    self.sync();
                    self.graph.ran[id as usize].after = stand(&self.program, thread);
                }
                self.look(thread);
                return self.race(id);
            }
        }
        let id = self.add(event, ran, at);
        if !event.paired {
            self.look(event.thread as usize);
        }
        self.race(id);
    }
}
