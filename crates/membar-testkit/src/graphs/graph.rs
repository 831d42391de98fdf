//! Execution graphs as they are built: every thread's accesses so far, what they read, and the order of writes.

use super::GaveUp;
use super::idle::Idle;
use super::relations::Event;
use crate::programs::{self, Id, Trace};
use membar_core::{Access, AccessKind, Fence, Order};
use membar_litmus::{Code, Settled};

/// All that determines a graph: the sources of all reads, thread by thread, and the writes of each location.
pub(crate) type Key = Box<[u16]>;

/// A graph. A source that is `None` is the first write of the location.
#[derive(Clone)]
pub(crate) struct Graph<'c> {
    code: &'c Code,
    threads: Vec<Thread>,
    /// For each location its writes.
    mo: Vec<Vec<Id>>,
}

#[derive(Clone)]
struct Thread {
    pc: u32,
    regs: Vec<u64>,
    next: Settled,
    /// Its accesses, in program order.
    made: Vec<Made>,
    /// For each of them, the instruction and the registers before it.
    visits: Vec<(u32, Vec<u64>)>,
}

#[derive(Clone, Copy)]
struct Made {
    access: Access,
    /// What it reads from, if it reads.
    source: Option<Id>,
    /// What it writes, if it writes.
    written: Option<u64>,
}

impl<'c> Graph<'c> {
    /// The graph without events.
    pub(crate) fn new(code: &'c Code) -> Graph<'c> {
        let mut graph = Graph { code, threads: Vec::new(), mo: vec![Vec::new(); code.cells.len()] };
        for (t, thread) in code.threads.iter().enumerate() {
            let (mut pc, mut regs) = (0, thread.regs.clone());
            let next = code.settle(t, &mut pc, &mut regs, |_, _| {});
            graph.threads.push(Thread { pc, regs, next, made: Vec::new(), visits: Vec::new() });
        }
        graph
    }

    /// What the thread is about to do.
    pub(crate) fn next(&self, t: usize) -> Settled {
        self.threads[t].next
    }

    /// Whether the thread is about to store.
    pub(crate) fn stores_next(&self, t: usize) -> bool {
        matches!(self.next(t), Settled::Request(request) if request.access.kind == AccessKind::Store)
    }

    /// How many accesses the thread has made.
    pub(crate) fn made(&self, t: usize) -> usize {
        self.threads[t].made.len()
    }

    /// Whether a thread is about to make an access where it has only read since it was there before, with the same registers.
    pub(crate) fn is_idle(&self, idle: &Idle) -> bool {
        self.threads.iter().enumerate().any(|(t, thread)| {
            let visits = thread.made.iter().zip(&thread.visits).rev();
            let mut since = visits.take_while(|(made, _)| made.written.is_none());
            matches!(thread.next, Settled::Request(_))
                && since.any(|(_, (pc, regs))| *pc == thread.pc && idle.same(t, *pc, regs, &thread.regs))
        })
    }

    /// Whether no access was made with a value that blocks it.
    pub(crate) fn was_let(&self, blocks: &impl Fn(u32, u64) -> bool) -> bool {
        let made = |made: &Made| {
            !made.access.kind.reads() || !blocks(made.access.site, self.value(made.access.addr, made.source))
        };
        self.threads.iter().all(|thread| thread.made.iter().all(made))
    }

    /// Whether each thread has ended, or the last value of its next access blocks it.
    pub(crate) fn has_ended(&self, blocks: &impl Fn(u32, u64) -> bool) -> bool {
        self.threads.iter().all(|thread| match thread.next {
            Settled::Request(request) if request.access.kind.reads() => {
                let addr = request.access.addr;
                blocks(request.access.site, self.value(addr, self.mo[addr as usize].last().copied()))
            }
            next => next == Settled::Done,
        })
    }

    /// The value that a location had at some time.
    fn value(&self, addr: u32, source: Option<Id>) -> u64 {
        match source {
            Some(id) => self.threads[id.thread as usize].made[id.index as usize].written.expect("a source writes"),
            None => self.code.cells[addr as usize].init,
        }
    }

    /// Adds the graphs that have one more access of the thread.
    pub(crate) fn grow(&self, t: usize, grown: &mut Vec<Graph<'c>>) {
        let Settled::Request(request) = self.threads[t].next else { return };
        let access = request.access;
        let writes = &self.mo[access.addr as usize];
        if !access.kind.reads() {
            grown.extend((0..=writes.len()).map(|place| self.with(t, None, Some(place))));
            return;
        }
        for place in 0..=writes.len() {
            // It reads the write before this place. If it writes, it goes there.
            let source = place.checked_sub(1).map(|before| writes[before]);
            let written = request.written(self.value(access.addr, source));
            grown.push(self.with(t, source, written.map(|_| place)));
        }
    }

    /// The graph with one more access of the thread, which reads from `source`, and whose write goes to `place` in mo.
    fn with(&self, t: usize, source: Option<Id>, place: Option<usize>) -> Graph<'c> {
        let mut graph = self.clone();
        let thread = &mut graph.threads[t];
        let Settled::Request(request) = thread.next else { panic!("thread {t} has no access to make") };
        let read = self.value(request.access.addr, source);
        let id = Id { thread: t as u8, index: thread.made.len() as u8 };
        thread.visits.push((thread.pc, thread.regs.clone()));
        thread.made.push(Made { access: request.access, source, written: request.written(read) });
        self.code.complete(t, &mut thread.pc, &mut thread.regs, read);
        thread.next = self.code.settle(t, &mut thread.pc, &mut thread.regs, |_, _| {});
        if let Some(place) = place {
            graph.mo[request.access.addr as usize].insert(place, id);
        }
        graph
    }

    /// The values of all registers, thread by thread, and then of all locations.
    pub(crate) fn state(&self) -> Vec<u64> {
        let memory = self.mo.iter().zip(0..).map(|(writes, addr)| self.value(addr, writes.last().copied()));
        self.threads.iter().flat_map(|thread| thread.regs.iter().copied()).chain(memory).collect()
    }

    /// All that determines the graph.
    pub(crate) fn key(&self) -> Key {
        const END: u16 = u16::MAX;
        const NONE: u16 = u16::MAX - 1;
        let number = |id: Id| u16::from(id.thread) << 8 | u16::from(id.index);
        let mut key = Vec::new();
        for thread in &self.threads {
            key.extend(thread.made.iter().map(|made| made.source.map_or(NONE, number)));
            key.push(END);
        }
        for writes in &self.mo {
            key.extend(writes.iter().map(|&id| number(id)));
            key.push(END);
        }
        key.into()
    }

    /// The same graph as the machines of [`programs`] describe theirs.
    pub(crate) fn trace(&self) -> Trace {
        let event = |t: usize, index: usize, made: &Made| programs::Event {
            id: Id { thread: t as u8, index: index as u8 },
            access: made.access,
            wrote: made.written.is_some(),
            source: made.source,
        };
        let thread = |(t, thread): (usize, &Thread)| {
            thread.made.iter().enumerate().map(|(index, made)| event(t, index, made)).collect()
        };
        Trace { threads: self.threads.iter().enumerate().map(thread).collect(), order: self.mo.clone() }
    }

    /// The events, thread by thread in program order, fences included; at most 64.
    pub(crate) fn events(&self) -> Result<Vec<Event>, GaveUp> {
        let mut events = Vec::new();
        // Where each access is in the list.
        let mut place: Vec<Vec<usize>> = vec![Vec::new(); self.threads.len()];
        for (t, thread) in self.threads.iter().enumerate() {
            for made in &thread.made {
                events.extend(made.access.c11.fence().parts().iter().map(|&fence| Event::fence(t, order(fence))));
                place[t].push(events.len());
                events.push(Event {
                    thread: t,
                    location: Some(made.access.addr),
                    kind: Some(made.access.kind),
                    barrier: made.access.barrier,
                    site: made.access.site,
                    order: made.access.order(made.written.is_some()),
                    reads: made.access.kind.reads(),
                    writes: made.written.is_some(),
                    source: None,
                    position: None,
                });
            }
        }
        let at = |id: Id| place[id.thread as usize][id.index as usize];
        for (t, thread) in self.threads.iter().enumerate() {
            for (made, &here) in thread.made.iter().zip(&place[t]) {
                events[here].source = made.source.map(at);
            }
        }
        for writes in &self.mo {
            for (position, &id) in writes.iter().enumerate() {
                events[at(id)].position = Some(position);
            }
        }
        if events.len() > 64 { Err(GaveUp::Accesses) } else { Ok(events) }
    }
}

/// A single fence's order.
fn order(fence: Fence) -> Order {
    match fence {
        Fence::Acquire => Order::Acquire,
        Fence::Release => Order::Release,
        Fence::AcqRel => Order::AcqRel,
        Fence::SeqCst => Order::SeqCst,
        Fence::None | Fence::ReleaseAcquire => panic!("{fence:?} is not one fence"),
    }
}
