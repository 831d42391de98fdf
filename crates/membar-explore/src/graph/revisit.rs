//! Revisits: a write becomes the source of a read that was there before it.

use super::frame::{By, Came, Frame, Kind};
use super::graph::{After, Event, Graph, INIT, What};
use super::search::Graphs;
use crate::{Next, Observer, Program};

impl<P: Program, O: Observer> Graphs<P, O> {
    /// The past of an event that is not in the graph.
    pub(super) fn past_of(&self, event: &Event, past: &mut Vec<u32>) {
        self.graph.past_of_next(event.thread as usize, past);
        if event.is_read() && event.source != INIT {
            past.iter_mut().zip(self.graph.past(event.source)).for_each(|(past, &more)| *past = (*past).max(more));
        }
    }

    /// The reads that a write, or a read-modify-write, which is not in the graph, revisits.
    pub(super) fn revisits(&mut self, write: &Event) -> Vec<u32> {
        let mut past = std::mem::take(&mut self.past);
        self.past_of(write, &mut past);
        let reads = &self.graph.places[write.access.addr as usize].reads;
        let in_past = |event: &Event| past[event.thread as usize] > event.index;
        let revisits = reads.iter().copied().filter(|&read| {
            let event = self.graph.event(read);
            if event.thread == write.thread || in_past(event) || write.access.arrives() && event.access.arrives() {
                return false;
            }
            let deleted = |other: &Event| other.stamp >= event.stamp && (other.what == What::Wait || !in_past(other));
            let mut ids = (0..self.graph.len() as u32).filter(|&id| deleted(self.graph.event(id)));
            ids.all(|id| self.is_maximal(id, &past))
        });
        let revisits = revisits.collect();
        self.past = past;
        revisits
    }

    /// Whether the event is the one that is chosen first, given those decided on before it and this past.
    pub(super) fn is_maximal(&self, id: u32, past: &[u32]) -> bool {
        let graph = &self.graph;
        let event = graph.event(id);
        let addr = event.access.addr;
        let known = |id: u32| {
            let other = graph.event(id);
            other.stamp <= event.stamp || past[other.thread as usize] > other.index
        };
        match event.what {
            What::Choice => event.value == 0,
            What::Read => {
                let later = &graph.co(addr)[graph.position(addr, event.source)..];
                (event.source == INIT || known(event.source)) && !later.iter().any(|&write| known(write))
            }
            What::Write => {
                let later = &graph.co(addr)[graph.position(addr, id)..];
                let read = |&&read: &&u32| graph.event(read).source == id;
                let reads = &graph.places[addr as usize].reads;
                !later.iter().any(|&write| known(write))
                    && !reads.iter().chain(graph.waits.iter().flatten()).filter(read).any(|&read| known(read))
            }
            What::Wait => self.is_maximal_wait(event, past),
        }
    }

    /// Opens a frame in which the write revisits the read.
    pub(super) fn revisit(&mut self, by: By, read: u32) {
        let mut past = std::mem::take(&mut self.past);
        let (By::Write(mut write) | By::Update(mut write)) = by;
        self.past_of(&write, &mut past);
        let read = *self.graph.event(read);
        let condition = self.condition(read.thread as usize, read.index);
        let threads = self.begin.len();
        let mut graph = self.spare.pop().unwrap_or_else(|| Box::new(Graph::new(threads)));
        graph.clear();
        std::mem::swap(&mut self.graph, &mut graph);
        let saved = graph;
        for (addr, place) in saved.places.iter().enumerate() {
            if place.init.is_some() {
                self.graph.place_mut(addr as u32).init = place.init;
            }
        }
        let mut number = vec![INIT; saved.len()];
        for (id, event) in saved.events.iter().enumerate() {
            let in_past = event.what != What::Wait && past[event.thread as usize] > event.index;
            if event.stamp >= read.stamp && !in_past {
                continue;
            }
            let mut event = *event;
            let mut at = 0;
            if matches!(event.what, What::Read | What::Wait) && event.source != INIT {
                event.source = number[event.source as usize];
            }
            if event.is_write() {
                let co = saved.co(event.access.addr).iter().take_while(|&&write| write as usize != id);
                at = co.filter(|&&write| number[write as usize] != INIT).count();
            }
            number[id] = self.add(event, at);
        }
        self.past = past;
        let addr = write.access.addr;
        if write.is_read() && write.source != INIT {
            write.source = number[write.source as usize];
        }
        let (by, places) = match by {
            // Where it stands is decided when it is made.
            By::Update(_) => (By::Update(write), vec![0]),
            By::Write(_) => {
                let mut places = if write.paired { self.place_of_update(&write) } else { self.places(&write) };
                if condition.is_some_and(|awaited| awaited.blocks(write.value)) {
                    let end = self.graph.co(addr).len();
                    places.retain(|&at| at == end);
                }
                (By::Write(write), places)
            }
        };
        let depth = self.graph.len();
        self.frames.push(Frame {
            depth,
            taken: 0,
            kind: Kind::Revisit { saved, read: Box::new(read), by: Box::new(by), places },
        });
    }

    /// The write, which stands there, is what the read reads from.
    pub(super) fn take_revisit(&mut self, read: Event, by: By, at: usize) -> Came {
        let write = match by {
            By::Write(write) => {
                self.take_write(write, at);
                write
            }
            By::Update(update) => match self.make_update(update) {
                Some(write) => write,
                None => return Came::Nowhere,
            },
        };
        let thread = read.thread as usize;
        let source = self.graph.len() as u32 - 1;
        let After { next: Next::Access(access), blocking, .. } = self.stands(thread) else { return Came::Nowhere };
        if blocking.is_some_and(|awaited| !self.is_open(&awaited, thread, read.index, read.stamp, source)) {
            // Of use only where nothing is after it.
            if self.graph.last(write.access.addr) != source {
                return Came::Nowhere;
            }
            self.wait_for(&read, source);
            return Came::On;
        }
        let event = Event { stamp: read.stamp, ..self.read(thread, &access, source) };
        if self.is_admitted(event) { self.make_read(event) } else { Came::Nowhere }
    }

    /// Makes a read-modify-write as a whole: the write.
    pub(super) fn make_update(&mut self, update: Event) -> Option<Event> {
        if !self.is_admitted(update) || self.make_read(update) != Came::On {
            return None;
        }
        let &read = self.graph.threads[update.thread as usize].last()?;
        let read = *self.graph.event(read);
        if !read.paired {
            return None;
        }
        let write = self.update_of(&read);
        let at = *self.place_of_update(&write).first()?;
        self.take_write(write, at);
        Some(write)
    }
}
