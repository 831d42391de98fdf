//! The happens-before cycle of a violation, found in a window of recent events.
//!
//! # Problem
//! A monitor says that `store` happens before `prev` and that `access` can go before `store`; people want to see the path. The
//! clocks do not know it, and the whole interleaving cannot be kept.
//!
//! # Algorithm
//! 1. Keep the last N events.
//! 2. At a report, go from the store to the access once. All edges of hb go forward, so the fewest edges from the store to an
//!    event are one more than to the best of: its thread's events so far (po), the write it reads (rf), the writes (co) and
//!    the reads (fr) of its address so far, what started its thread, what it joined. po, co and fr are transitive, so only
//!    the nearest to the store of each is kept.
//! 3. Into the access itself only po and start count. The closing edge goes from the access to the store.
//!
//! # Complexity
//! O(length of the path in events) time and memory for a report; 40 bytes per event of the window.
//!
//! # Guarantees
//! If the store is in the window, a cycle is found, and none through this store and this access has fewer edges.

use crate::event::{Event, Op, Violation};
use membar_core::{Relation, Relaxation};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// An event with its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The event.
    pub event: Event,
    /// The value read, if it reads.
    pub read: u64,
    /// The value written, if it writes.
    pub write: u64,
}

/// One step of a [`Cycle`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Happens before
    pub from: Recorded,
    /// this one,
    pub to: Recorded,
    /// because of this.
    pub relation: Relation,
    /// Program order that the model does not keep: a fence between the two is needed.
    pub fence: bool,
}

/// From the store that is delayed back to it. The last edge, from the access that overtakes it, holds in the execution
/// under the weaker model; the others hold in both.
pub type Cycle = Vec<Edge>;

/// The most recent events.
#[derive(Clone, Debug)]
pub struct Window {
    events: VecDeque<Recorded>,
    capacity: usize,
}

/// The event of a kind that is nearest to the store: how many edges, and which event.
type Best = Option<(u32, u32)>;

fn nearer(best: &mut Best, other: Best) {
    if let Some(other) = other
        && best.is_none_or(|best| other.0 < best.0)
    {
        *best = Some(other);
    }
}

#[derive(Clone, Copy, Default)]
struct Place {
    /// The last write, wherever it was.
    last: Best,
    writes: Best,
    reads: Best,
}

impl Window {
    /// Keeps this many events.
    pub fn new(capacity: usize) -> Window {
        Window { events: VecDeque::new(), capacity }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.events.clear();
    }

    /// The next event.
    #[inline]
    pub fn push(&mut self, recorded: Recorded) {
        if self.events.len() >= self.capacity {
            if self.capacity == 0 {
                return;
            }
            self.events.pop_front();
        }
        self.events.push_back(recorded);
    }

    /// The event of this thread at this place that writes, or that is the given one.
    fn find(&self, at: u64, wanted: impl Fn(&Event) -> bool) -> Option<usize> {
        let first = self.events.partition_point(|recorded| recorded.event.at < at);
        let same = self.events.range(first..).take_while(|recorded| recorded.event.at == at);
        same.zip(first..).find(|(recorded, _)| wanted(&recorded.event)).map(|(_, index)| index)
    }

    /// The store of a violation, if it is still there.
    pub fn store(&self, violation: &Violation) -> Option<Recorded> {
        self.store_index(violation).map(|index| self.events[index])
    }

    fn store_index(&self, violation: &Violation) -> Option<usize> {
        self.find(violation.store.at, |event| event.thread == violation.store.thread && event.op.writes())
    }

    /// How many events a search for the cycle has to look at; `None` if the store is too old.
    pub fn distance(&self, violation: &Violation) -> Option<usize> {
        Some(self.events.len() - self.store_index(violation)?)
    }

    /// A shortest cycle of the violation, whose access has been pushed; `None` if the store is too old.
    pub fn cycle(&self, violation: &Violation, model: Relaxation) -> Option<Cycle> {
        let store = self.store_index(violation)?;
        let access = self.find(violation.access.at, |event| *event == violation.access)?;
        let path = self.path(store, access)?;
        let mut cycle: Cycle = path
            .windows(2)
            .map(|pair| {
                let (from, (to, relation)) = (pair[0].0, pair[1]);
                let fence = relation == Relation::Po && !self.kept(from, to, model);
                Edge { from: self.events[from], to: self.events[to], relation, fence }
            })
            .collect();
        let relation = if violation.access.op.writes() { Relation::Co } else { Relation::Fr };
        cycle.push(Edge { from: self.events[access], to: self.events[store], relation, fence: false });
        Some(cycle)
    }

    /// The events from the store to the access, each with how it was reached.
    fn path(&self, store: usize, access: usize) -> Option<Vec<(usize, Relation)>> {
        let mut threads: Vec<Best> = Vec::new();
        let mut places: FxHashMap<u32, Place> = FxHashMap::default();
        let mut reached: Vec<Option<(u32, Relation)>> = vec![None; access - store + 1];
        for (i, recorded) in self.events.range(store..=access).enumerate() {
            let Event { thread, op, .. } = recorded.event;
            let most = match op {
                Op::Start { child } | Op::Join { child } => thread.max(child),
                _ => thread,
            };
            if threads.len() <= most as usize {
                threads.resize(most as usize + 1, None);
            }
            if matches!(op, Op::Fence | Op::StoreBarrier) {
                continue;
            }
            let place = op.addr().map(|addr| places.entry(addr).or_default());
            let mut best = threads[thread as usize];
            let mut relation = Relation::Po;
            if best.is_some_and(|(_, from)| self.events[store + from as usize].event.thread != thread) {
                relation = Relation::Start;
            }
            let mut candidate = |other: Best, by: Relation| {
                if let Some(other) = other
                    && best.is_none_or(|best| other.0 < best.0)
                {
                    (best, relation) = (Some(other), by);
                }
            };
            if i != access - store {
                if let Some(place) = &place {
                    if op.reads() {
                        candidate(place.last, Relation::Rf);
                    }
                    if op.writes() {
                        candidate(place.writes, Relation::Co);
                        candidate(place.reads, Relation::Fr);
                    }
                }
                if let Op::Join { child } = op {
                    candidate(threads[child as usize], Relation::Join);
                }
            }
            let mine = if i == 0 {
                Some((0, 0))
            } else {
                reached[i] = best.map(|(_, from)| (from, relation));
                best.map(|(edges, _)| (edges + 1, i as u32))
            };
            nearer(&mut threads[thread as usize], mine);
            if let Op::Start { child } = op {
                nearer(&mut threads[child as usize], mine);
            }
            if let Some(place) = place {
                if op.writes() {
                    place.last = mine;
                    nearer(&mut place.writes, mine);
                }
                if op.reads() {
                    nearer(&mut place.reads, mine);
                }
            }
        }
        let mut path = Vec::new();
        let mut i = access - store;
        while i > 0 {
            let (from, relation) = reached[i]?;
            path.push((store + i, relation));
            i = from as usize;
        }
        path.push((store, Relation::Po));
        path.reverse();
        Some(path)
    }

    /// Does the model keep this program order?
    fn kept(&self, from: usize, to: usize, model: Relaxation) -> bool {
        let (Event { thread, op: first, .. }, second) = (self.events[from].event, self.events[to].event.op);
        let Op::Store { addr } = first else { return true };
        let tso = model == Relaxation::Tso;
        let stores = matches!(second, Op::Store { .. } | Op::Interlocked { .. });
        let between = self.events.range(from + 1..to).filter(|between| between.event.thread == thread);
        for between in between {
            match between.event.op {
                Op::Fence | Op::Start { .. } => return true,
                Op::Interlocked { addr: other, .. } if tso || other == addr => return true,
                Op::StoreBarrier if stores => return true,
                _ => {}
            }
        }
        match second {
            Op::Start { .. } => true,
            Op::Store { addr: other } | Op::Interlocked { addr: other, .. } => tso || other == addr,
            _ => false,
        }
    }
}
