//! Events, relations between them, and those that every model has.

use membar_core::{AccessKind, Barrier, Order};

/// An event.
pub(crate) struct Event {
    pub(crate) thread: usize,
    /// `None`: it is a fence.
    pub(crate) location: Option<u32>,
    /// `None`: it is a fence. A compare-exchange that fails is still a read-modify-write.
    pub(crate) kind: Option<AccessKind>,
    /// The strongest barrier between the thread's previous access and this one.
    pub(crate) barrier: Barrier,
    pub(crate) site: u32,
    pub(crate) order: Order,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// If it reads, the event whose write it reads. `None`: the first write of the location.
    pub(crate) source: Option<usize>,
    /// If it writes, its place among the writes of its location.
    pub(crate) position: Option<usize>,
}

impl Event {
    pub(crate) fn fence(thread: usize, order: Order) -> Event {
        Event {
            thread,
            location: None,
            kind: None,
            barrier: Barrier::None,
            site: u32::MAX,
            order,
            reads: false,
            writes: false,
            source: None,
            position: None,
        }
    }

    pub(crate) fn same_location(&self, other: &Event) -> bool {
        self.location.is_some() && self.location == other.location
    }
}

/// A binary relation on at most 64 events.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Rel {
    /// For each event, the set of events it is related to.
    rows: Vec<u64>,
}

impl Rel {
    pub(crate) fn new(size: usize, holds: impl Fn(usize, usize) -> bool) -> Rel {
        let row = |a| (0..size).filter(|&b| holds(a, b)).fold(0, |row, b| row | 1 << b);
        Rel { rows: (0..size).map(row).collect() }
    }

    pub(crate) fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a] >> b & 1 == 1
    }

    /// self ∪ other
    pub(crate) fn or(&self, other: &Rel) -> Rel {
        Rel { rows: self.rows.iter().zip(&other.rows).map(|(a, b)| a | b).collect() }
    }

    /// self ; other
    pub(crate) fn then(&self, other: &Rel) -> Rel {
        let row =
            |&row: &u64| (0..other.rows.len()).filter(|b| row >> b & 1 == 1).fold(0, |all, b| all | other.rows[b]);
        Rel { rows: self.rows.iter().map(row).collect() }
    }

    /// self ∪ identity
    pub(crate) fn or_same(&self) -> Rel {
        Rel { rows: self.rows.iter().enumerate().map(|(a, row)| row | 1 << a).collect() }
    }

    /// The transitive closure.
    pub(crate) fn plus(&self) -> Rel {
        let mut closure = self.clone();
        for middle in 0..closure.rows.len() {
            for a in 0..closure.rows.len() {
                if closure.has(a, middle) {
                    closure.rows[a] |= closure.rows[middle];
                }
            }
        }
        closure
    }

    pub(crate) fn is_irreflexive(&self) -> bool {
        (0..self.rows.len()).all(|a| !self.has(a, a))
    }

    pub(crate) fn is_acyclic(&self) -> bool {
        self.plus().is_irreflexive()
    }
}

/// The relations of a graph that every model has.
pub(crate) struct Relations<'e> {
    /// The events, thread by thread in program order.
    pub(crate) events: &'e [Event],
    /// Program order.
    pub(crate) po: Rel,
    /// From a write to the reads of it.
    pub(crate) rf: Rel,
    /// For each location the order of its writes.
    pub(crate) co: Rel,
    /// From a read to the writes after the one it reads, itself excepted.
    pub(crate) fr: Rel,
}

impl<'e> Relations<'e> {
    /// `events` are in program order, thread by thread.
    pub(crate) fn new(events: &'e [Event]) -> Relations<'e> {
        let rel = |holds: &dyn Fn(usize, usize) -> bool| Rel::new(events.len(), holds);
        let po = rel(&|a, b| events[a].thread == events[b].thread && a < b);
        let rf = rel(&|a, b| events[b].source == Some(a));
        let co = rel(&|a, b| {
            let both = events[a].writes && events[b].writes && events[a].same_location(&events[b]);
            both && events[a].position < events[b].position
        });
        let fr = rel(&|a, b| {
            let pair = events[a].reads && events[b].writes && events[a].same_location(&events[b]) && a != b;
            pair && events[a].source.is_none_or(|source| co.has(source, b))
        });
        Relations { events, po, rf, co, fr }
    }

    /// A relation on these events.
    pub(crate) fn rel(&self, holds: impl Fn(usize, usize) -> bool) -> Rel {
        Rel::new(self.events.len(), holds)
    }

    /// Nothing is in co between a read-modify-write and what it reads.
    pub(crate) fn is_atomic(&self) -> bool {
        self.fr.then(&self.co).is_irreflexive()
    }

    /// The graph is one of SC.
    pub(crate) fn is_sequential(&self) -> bool {
        self.is_atomic() && self.po.or(&self.rf).or(&self.co).or(&self.fr).is_acyclic()
    }
}
