//! An execution graph: events with program order, reads-from and the order of writes to each address.
//!
//! # Invariants
//!
//! Events are kept in an order that extends po ∪ rf, in which the program can be run. `stamp` is another order: that in
//! which the search has decided on them ([`super::search`]). A read-modify-write that writes is two events, its read
//! and then its write, which is next to the read's source in co. The last event can be taken away again; nothing reads
//! from it.

use crate::{Awaited, Next};
use membar_core::{Access, AccessKind, GraphModel, Order};

/// The initial value, as the source of a read.
pub const INIT: u32 = u32::MAX;

/// What an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// It reads `source`.
    Read,
    Write,
    /// It chooses among outcomes: no memory is involved.
    Choice,
    /// The thread's next access blocks ([`super::awaits`]). This is a decision, not an access.
    Wait,
}

/// How a thread stands after an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct After {
    pub next: Next,
    /// The condition of its next access, if that may block.
    pub blocking: Option<Awaited>,
    /// It has gone round a loop without effect, reading this many values: it goes no further.
    pub idle: Option<u32>,
}

/// How an event was made by the program, to make it again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Made {
    /// Its number among all that were made: a later one with another value has another number.
    pub serial: u32,
    /// The value that the access found, and whether what it found has come to the end of its life.
    pub found: u64,
    pub dead: bool,
    /// The value that the address has afterwards.
    pub left: u64,
}

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    pub thread: u32,
    /// Its place among the events of its thread; of a decision, that of the event it is about.
    pub index: u32,
    pub stamp: u32,
    pub what: What,
    pub access: Access,
    /// Its memory order.
    pub order: Order,
    /// The value read, written or chosen.
    pub value: u64,
    /// Of a read: what it reads from. Of a wait: the write that it blames, if any.
    pub source: u32,
    /// It is the read, or the write, of a read-modify-write that writes.
    pub paired: bool,
}

/// How the program made an event, and where that took the thread. Models know nothing of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ran {
    pub after: After,
    /// Not of decisions, and not of the write of a read-modify-write.
    pub made: Option<Made>,
    /// Of the read of a read-modify-write: the value that it writes.
    pub wrote: u64,
}

impl Ran {
    /// Of a decision.
    pub const NOT: Ran = Ran { after: After { next: Next::Done, blocking: None, idle: None }, made: None, wrote: 0 };
}

impl Event {
    pub fn is_read(&self) -> bool {
        self.what == What::Read
    }

    pub fn is_write(&self) -> bool {
        self.what == What::Write
    }

    /// Whether it is part of an interlocked operation, one that fails included.
    pub fn is_interlocked(&self) -> bool {
        self.access.kind == AccessKind::Rmw
    }
}

/// What is known about an address.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The initial value, once an event is about the address.
    pub init: Option<u64>,
    /// The writes, in co.
    pub co: Vec<u32>,
    /// The reads.
    pub reads: Vec<u32>,
}

/// A graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub events: Vec<Event>,
    /// Of each event that has been added for good.
    pub ran: Vec<Ran>,
    /// Of each thread its events, without decisions.
    pub threads: Vec<Vec<u32>>,
    /// Of each thread its waits, oldest first.
    pub waits: Vec<Vec<u32>>,
    pub places: Vec<Place>,
    /// Of each event and thread, how many events of the thread are before it in po ∪ rf, with it.
    porf: Vec<u32>,
    /// Of each event clocks of the model.
    pub clocks: Vec<u32>,
    /// Of each event, whether the graph up to it is sequentially consistent.
    pub sc: Vec<bool>,
    /// The events that are steps of the program.
    pub steps: Vec<u32>,
    /// How many of them, from the first one on, the program has made and not taken back.
    pub shared: usize,
    /// The next stamp.
    pub top: u32,
}

impl Graph {
    pub fn new(threads: usize) -> Graph {
        Graph { threads: vec![Vec::new(); threads], waits: vec![Vec::new(); threads], ..Graph::default() }
    }

    pub fn clear(&mut self) {
        self.events.clear();
        self.ran.clear();
        self.threads.iter_mut().for_each(Vec::clear);
        self.waits.iter_mut().for_each(Vec::clear);
        for place in &mut self.places {
            place.init = None;
            place.co.clear();
            place.reads.clear();
        }
        self.porf.clear();
        self.clocks.clear();
        self.sc.clear();
        self.steps.clear();
        self.shared = 0;
        self.top = 0;
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    #[inline]
    pub fn event(&self, id: u32) -> &Event {
        &self.events[id as usize]
    }

    pub fn place(&self, addr: u32) -> Option<&Place> {
        self.places.get(addr as usize)
    }

    /// The same, for an address that may be new.
    pub fn place_mut(&mut self, addr: u32) -> &mut Place {
        let at = addr as usize;
        if at >= self.places.len() {
            self.places.resize_with(at + 1, Place::default);
        }
        &mut self.places[at]
    }

    #[inline]
    pub fn co(&self, addr: u32) -> &[u32] {
        self.places.get(addr as usize).map_or(&[], |place| &place.co)
    }

    /// The value that a write, or the beginning, left at an address.
    pub fn value(&self, addr: u32, source: u32) -> u64 {
        if source == INIT {
            return self.places[addr as usize].init.unwrap_or(0);
        }
        self.event(source).value
    }

    /// The last write to an address.
    pub fn last(&self, addr: u32) -> u32 {
        self.co(addr).last().copied().unwrap_or(INIT)
    }

    /// How many writes to the address are before the source in co, with it.
    #[inline]
    pub fn position(&self, addr: u32, source: u32) -> usize {
        if source == INIT {
            return 0;
        }
        let at = self.co(addr).iter().rposition(|&write| write == source);
        at.map_or(0, |at| at + 1)
    }

    /// Of each thread, how many events are before this one in po ∪ rf, with it.
    #[inline]
    pub fn past(&self, id: u32) -> &[u32] {
        let threads = self.threads.len();
        &self.porf[id as usize * threads..][..threads]
    }

    /// The past of an event that would come after all those of a thread.
    pub fn past_of_next(&self, thread: usize, past: &mut Vec<u32>) {
        past.clear();
        match self.threads[thread].last() {
            Some(&last) => past.extend_from_slice(self.past(last)),
            None => past.resize(self.threads.len(), 0),
        }
    }

    /// Tries an event, a write at this place of co, until it is taken away.
    pub fn push(&mut self, event: Event, at: usize, model: GraphModel) -> u32 {
        let id = self.events.len() as u32;
        let (threads, thread) = (self.threads.len(), event.thread as usize);
        let from = self.porf.len();
        match self.threads[thread].last() {
            Some(&last) => self.porf.extend_from_within(last as usize * threads..(last as usize + 1) * threads),
            None => self.porf.resize(from + threads, 0),
        }
        match event.what {
            What::Wait => self.waits[thread].push(id),
            _ => {
                self.threads[thread].push(id);
                self.porf[from + thread] = event.index + 1;
            }
        }
        match event.what {
            What::Read => {
                if event.source != INIT {
                    let source = event.source as usize * threads;
                    for t in 0..threads {
                        let seen = self.porf[source + t];
                        let mine = &mut self.porf[from + t];
                        *mine = (*mine).max(seen);
                    }
                }
                self.place_mut(event.access.addr).reads.push(id);
            }
            What::Write => self.place_mut(event.access.addr).co.insert(at, id),
            What::Choice | What::Wait => {}
        }
        self.events.push(event);
        self.sc.push(self.sc.last().copied().unwrap_or(true));
        if model == GraphModel::C11 {
            super::models::c11::clock(self, id);
        }
        id
    }

    /// The last event stays, and this is how it was made, by a program that has made these steps.
    #[inline]
    pub fn keep(&mut self, ran: Ran, steps: &[u32]) {
        self.ran.push(ran);
        if let Some(made) = ran.made {
            let at = self.steps.len();
            self.steps.push(self.events.len() as u32 - 1);
            if self.shared == at && steps.get(at) == Some(&made.serial) {
                self.shared += 1;
            }
        }
    }

    /// Takes the last event away.
    pub fn pop(&mut self) {
        let Some(event) = self.events.pop() else { return };
        if event.stamp + 1 == self.top {
            self.top = event.stamp;
        }
        let id = self.events.len() as u32;
        let threads = self.threads.len();
        self.porf.truncate(id as usize * threads);
        self.clocks.truncate(id as usize * super::models::c11::stride(threads));
        self.sc.pop();
        match event.what {
            What::Wait => self.waits[event.thread as usize].pop(),
            _ => self.threads[event.thread as usize].pop(),
        };
        match event.what {
            What::Read => {
                self.places[event.access.addr as usize].reads.pop();
            }
            What::Write => {
                let co = &mut self.places[event.access.addr as usize].co;
                if let Some(at) = co.iter().rposition(|&write| write == id) {
                    co.remove(at);
                }
            }
            What::Choice | What::Wait => {}
        }
        self.ran.truncate(id as usize);
        if self.steps.last() == Some(&id) {
            self.steps.pop();
            self.shared = self.shared.min(self.steps.len());
        }
    }

    /// Whether a write may stand at this place of co: nothing comes between a read-modify-write and what it read.
    pub fn is_gap(&self, addr: u32, at: usize) -> bool {
        let co = self.co(addr);
        let Some(&next) = co.get(at) else { return true };
        let next = self.event(next);
        if !next.paired {
            return true;
        }
        let read = self.event(self.threads[next.thread as usize][next.index as usize - 1]);
        let before = if at == 0 { INIT } else { co[at - 1] };
        read.source != before
    }
}
