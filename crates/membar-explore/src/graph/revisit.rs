//! Revisits: a write becomes the source of a read that was there before it.

use super::along::stand;
use super::frame::{By, Came, Kind, Way};
use super::graph::{After, Event, INIT, Ran, What};
use super::search::Graphs;
use crate::{Next, Observer, Program};

/// A revisit: the graph before it, from the first event on that it deletes, and what it does.
pub(super) struct Revisited {
    pub(super) read: Event,
    pub(super) by: By,
    /// The first event that it deletes, and the stamp that came next.
    first: u32,
    top: u32,
    taken: Vec<Taken>,
}

/// An event that was taken away: where it stood in co among those before it, and, unless it is deleted, its new number
/// and place.
struct Taken {
    event: Event,
    ran: Ran,
    sc: bool,
    at: u32,
    number: u32,
    kept_at: u32,
}

impl Revisited {
    /// The new number of an event.
    fn number(&self, id: u32) -> u32 {
        id.checked_sub(self.first).map_or(id, |at| self.taken[at as usize].number)
    }
}

impl<P: Program, O: Observer> Graphs<P, O> {
    /// The past of an event that is not in the graph.
    pub(super) fn past_of(&self, event: &Event, past: &mut Vec<u32>) {
        self.graph.past_of_next(event.thread as usize, past);
        if event.is_read() && event.source != INIT {
            past.iter_mut().zip(self.graph.past(event.source)).for_each(|(past, &more)| *past = (*past).max(more));
        }
    }

    /// Lists the reads that a write, or a read-modify-write, which is not in the graph, revisits: those that make a way,
    /// given their stamps.
    pub(super) fn list_revisits(&mut self, write: &Event, way: impl Fn(u32, u32) -> Option<Way>) {
        let mut past = std::mem::take(&mut self.past);
        self.past_of(write, &mut past);
        let in_past = |event: &Event| past[event.thread as usize] > event.index;
        let reads = &self.graph.places[write.access.addr as usize].reads;
        let mut ways = std::mem::take(&mut self.ways);
        ways.extend(reads.iter().filter_map(|&read| {
            let event = self.graph.event(read);
            if event.thread == write.thread || in_past(event) || write.access.arrives() && event.access.arrives() {
                return None;
            }
            let way = way(read, event.stamp)?;
            let deleted = |other: &Event| other.stamp >= event.stamp && (other.what == What::Wait || !in_past(other));
            let mut ids = (0..self.graph.len() as u32).filter(|&id| deleted(self.graph.event(id)));
            ids.all(|id| self.is_maximal(id, &past)).then_some(way)
        }));
        self.ways = ways;
        self.past = past;
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
        let (By::Write(mut write, _) | By::Update(mut write)) = by;
        let mut past = std::mem::take(&mut self.past);
        self.past_of(&write, &mut past);
        let read = *self.graph.event(read);
        let condition = self.condition(read.thread as usize, read.index);
        let mut revisited =
            self.spare.pop().unwrap_or_else(|| Box::new(Revisited { read, by, first: 0, top: 0, taken: Vec::new() }));
        self.take_away(&read, &past, &mut revisited);
        self.past = past;
        self.put_back_kept(&revisited);
        if write.is_read() && write.source != INIT {
            write.source = revisited.number(write.source);
        }
        let from = self.ways.len();
        revisited.read = read;
        revisited.by = match by {
            By::Update(_) => {
                // Where it stands is decided when it is made.
                self.ways.push(Way::At(0));
                By::Update(write)
            }
            By::Write(_, ran) => {
                self.list_places(&write);
                if condition.is_some_and(|awaited| awaited.blocks(write.value)) {
                    let end = Way::At(self.graph.co(write.access.addr).len() as u32);
                    let has_end = self.ways[from..].contains(&end);
                    self.ways.truncate(from);
                    self.ways.extend(has_end.then_some(end));
                }
                By::Write(write, ran)
            }
        };
        self.offer(from, Kind::Revisit(revisited));
    }

    /// Takes the graph back to before the first event that a revisit of this read deletes.
    fn take_away(&mut self, read: &Event, past: &[u32], revisited: &mut Revisited) {
        let graph = &mut self.graph;
        let stays = |event: &Event| {
            event.stamp < read.stamp || event.what != What::Wait && past[event.thread as usize] > event.index
        };
        let first = graph.events.iter().position(|event| !stays(event)).unwrap_or(graph.len());
        (revisited.first, revisited.top) = (first as u32, graph.top);
        revisited.taken.clear();
        let mut number = first as u32;
        for id in first as u32..graph.len() as u32 {
            let event = *graph.event(id);
            let stays = stays(&event);
            let (mut at, mut kept_at) = (0, 0);
            if event.is_write() {
                let is_kept = |write: u32| write < revisited.first || revisited.number(write) != INIT;
                for &write in graph.co(event.access.addr).iter().take_while(|&&write| write != id) {
                    at += u32::from(write < id);
                    kept_at += u32::from(write < id && is_kept(write));
                }
            }
            let kept = if stays { number } else { INIT };
            number += u32::from(stays);
            let (ran, sc) = (graph.ran[id as usize], graph.sc[id as usize]);
            revisited.taken.push(Taken { event, ran, sc, at, number: kept, kept_at });
        }
        self.cut_to(first);
    }

    /// Adds the events again that a revisit does not delete.
    fn put_back_kept(&mut self, revisited: &Revisited) {
        for taken in revisited.taken.iter().filter(|taken| taken.number != INIT) {
            let mut event = taken.event;
            if matches!(event.what, What::Read | What::Wait) && event.source != INIT {
                event.source = revisited.number(event.source);
            }
            let (mut ran, at) = (taken.ran, taken.kept_at as usize);
            let again = self.refresh(&event, &mut ran, at);
            let id = self.add(event, ran, at);
            if again {
                self.sync();
                self.graph.ran[id as usize].after = stand(&self.program, event.thread as usize);
            }
        }
    }

    /// Without the writes that are deleted a step may leave another value in memory than it did, and a store may write to what has not
    /// come to its end. Whether its thread may stand differently for that.
    fn refresh(&mut self, event: &Event, ran: &mut Ran, at: usize) -> bool {
        let Some(made) = &mut ran.made else { return false };
        let addr = event.access.addr;
        let last = self.graph.last(addr);
        let (dead, own) = match event.what {
            What::Choice | What::Wait => return false,
            What::Read => (made.dead, (event.paired && event.source == last).then_some(ran.wrote)),
            What::Write => {
                let co = self.graph.co(addr);
                (at > 0 && self.is_dead(co[at - 1]), (at == co.len()).then_some(event.value))
            }
        };
        let left = own.unwrap_or_else(|| self.graph.value(addr, last));
        let again = dead != made.dead;
        if again || left != made.left {
            self.serial += 1;
            (made.serial, made.dead, made.left) = (self.serial, dead, left);
        }
        again
    }

    /// Takes the graph back to before a revisit.
    pub(super) fn restore(&mut self, revisited: Box<Revisited>) {
        self.cut_to(revisited.first as usize);
        for &Taken { event, ran, sc, at, .. } in &revisited.taken {
            let id = self.graph.push(event, at as usize, self.model);
            self.graph.keep(ran, &self.made);
            self.graph.sc[id as usize] = sc;
        }
        self.graph.top = revisited.top;
        self.spare.push(revisited);
    }

    /// The write, which stands there, is what the read reads from.
    pub(super) fn take_revisit(&mut self, read: Event, by: By, at: usize) -> Came {
        let write = match by {
            By::Write(write, ran) => {
                self.take_write(write, ran, at);
                write
            }
            By::Update(update) => match self.make_update(update) {
                Some(write) => write,
                None => return Came::Nowhere,
            },
        };
        let thread = read.thread as usize;
        let source = self.graph.len() as u32 - 1;
        let &After { next: Next::Access(access), blocking, .. } = self.stands(thread) else { return Came::Nowhere };
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
        if !self.graph.event(read).paired {
            return None;
        }
        let (write, ran) = self.update_of(read);
        let at = self.place_of_update(&write)?;
        self.take_write(write, ran, at);
        Some(write)
    }
}
