//! The axioms, in relational algebra.

use membar_core::Order;
use std::collections::BTreeSet;

/// An event.
pub(super) struct Event {
    pub(super) thread: usize,
    /// `None`: it is a fence.
    pub(super) location: Option<u32>,
    pub(super) site: u32,
    pub(super) order: Order,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// If it reads, the event whose write it reads. `None`: the first write of the location.
    pub(super) source: Option<usize>,
    /// If it writes, its place among the writes of its location.
    pub(super) position: Option<usize>,
}

impl Event {
    pub(super) fn fence(thread: usize, order: Order) -> Event {
        let (location, site, source, position) = (None, u32::MAX, None, None);
        Event { thread, location, site, order, reads: false, writes: false, source, position }
    }

    fn same_location(&self, other: &Event) -> bool {
        self.location.is_some() && self.location == other.location
    }
}

/// A binary relation on at most 64 events.
#[derive(Clone, PartialEq, Eq)]
struct Rel {
    /// For each event, the set of events it is related to.
    rows: Vec<u64>,
}

impl Rel {
    fn new(size: usize, holds: impl Fn(usize, usize) -> bool) -> Rel {
        let row = |a| (0..size).filter(|&b| holds(a, b)).fold(0, |row, b| row | 1 << b);
        Rel { rows: (0..size).map(row).collect() }
    }

    fn has(&self, a: usize, b: usize) -> bool {
        self.rows[a] >> b & 1 == 1
    }

    /// self ∪ other
    fn or(&self, other: &Rel) -> Rel {
        Rel { rows: self.rows.iter().zip(&other.rows).map(|(a, b)| a | b).collect() }
    }

    /// self ; other
    fn then(&self, other: &Rel) -> Rel {
        let row =
            |&row: &u64| (0..other.rows.len()).filter(|b| row >> b & 1 == 1).fold(0, |all, b| all | other.rows[b]);
        Rel { rows: self.rows.iter().map(row).collect() }
    }

    /// self ∪ identity
    fn or_same(&self) -> Rel {
        Rel { rows: self.rows.iter().enumerate().map(|(a, row)| row | 1 << a).collect() }
    }

    /// The transitive closure.
    fn plus(&self) -> Rel {
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

    fn is_irreflexive(&self) -> bool {
        (0..self.rows.len()).all(|a| !self.has(a, a))
    }

    fn is_acyclic(&self) -> bool {
        self.plus().is_irreflexive()
    }
}

/// The relations of a graph.
pub(super) struct Relations<'e> {
    events: &'e [Event],
    po: Rel,
    rf: Rel,
    mo: Rel,
    fr: Rel,
    hb: Rel,
}

impl<'e> Relations<'e> {
    /// `events` are in program order, thread by thread.
    pub(super) fn new(events: &'e [Event]) -> Relations<'e> {
        let rel = |holds: &dyn Fn(usize, usize) -> bool| Rel::new(events.len(), holds);
        let po = rel(&|a, b| events[a].thread == events[b].thread && a < b);
        let rf = rel(&|a, b| events[b].source == Some(a));
        let mo = rel(&|a, b| {
            let both = events[a].writes && events[b].writes && events[a].same_location(&events[b]);
            both && events[a].position < events[b].position
        });
        let fr = rel(&|a, b| {
            let pair = events[a].reads && events[b].writes && events[a].same_location(&events[b]) && a != b;
            pair && events[a].source.is_none_or(|source| mo.has(source, b))
        });

        let set = |holds: &dyn Fn(&Event) -> bool| rel(&|a, b| a == b && holds(&events[a]));
        let is_fence = |e: &Event| e.location.is_none();
        let writes = |e: &Event| e.writes && e.order.is_atomic();
        let reads = |e: &Event| e.reads && e.order.is_atomic();
        // [≥rel];([F];po)?;[W]
        let fence = set(&|e| is_fence(e) && e.order.releases());
        let releases = set(&|e| writes(e) && e.order.releases()).or(&fence.then(&po).then(&set(&writes)));
        // [R];(po;[F])?;[≥acq]
        let fence = set(&|e| is_fence(e) && e.order.acquires());
        let acquires = set(&|e| reads(e) && e.order.acquires()).or(&set(&reads).then(&po).then(&fence));
        let rs = set(&writes).then(&rf.then(&set(&|e| reads(e) && writes(e))).plus().or_same());
        let sw = releases.then(&rs).then(&rf).then(&acquires);
        let hb = po.or(&sw).plus();
        Relations { events, po, rf, mo, fr, hb }
    }

    /// Whether the graph is one of RC11.
    pub(super) fn is_rc11(&self) -> bool {
        let Relations { po, rf, mo, fr, hb, .. } = self;
        let eco = rf.or(mo).or(fr).plus();
        let coherent = hb.then(&eco.or_same()).is_irreflexive();
        coherent && self.is_atomic() && po.or(rf).is_acyclic() && self.psc(&eco).is_acyclic()
    }

    /// Whether the graph is one of SC.
    pub(super) fn is_sequential(&self) -> bool {
        self.is_atomic() && self.po.or(&self.rf).or(&self.mo).or(&self.fr).is_acyclic()
    }

    /// Whether nothing is in mo between a read-modify-write and what it reads.
    fn is_atomic(&self) -> bool {
        self.fr.then(&self.mo).is_irreflexive()
    }

    fn psc(&self, eco: &Rel) -> Rel {
        let Relations { events, po, mo, fr, hb, .. } = self;
        let rel = |holds: &dyn Fn(usize, usize) -> bool| Rel::new(events.len(), holds);
        let elsewhere = rel(&|a, b| po.has(a, b) && !events[a].same_location(&events[b]));
        let here = rel(&|a, b| hb.has(a, b) && events[a].same_location(&events[b]));
        let scb = po.or(&elsewhere.then(hb).then(&elsewhere)).or(&here).or(mo).or(fr);

        let sc = rel(&|a, b| a == b && events[a].order == Order::SeqCst);
        let fsc = rel(&|a, b| sc.has(a, b) && events[a].location.is_none());
        let maybe_hb = hb.or_same();
        let base = sc.or(&fsc.then(&maybe_hb)).then(&scb).then(&sc.or(&maybe_hb.then(&fsc)));
        let fences = fsc.then(&hb.or(&hb.then(eco).then(hb))).then(&fsc);
        base.or(&fences)
    }

    /// The pairs of sites that race.
    pub(super) fn races(&self) -> BTreeSet<(u32, u32)> {
        let mut races = BTreeSet::new();
        for (b, two) in self.events.iter().enumerate() {
            for (a, one) in self.events[..b].iter().enumerate() {
                let conflict = one.same_location(two) && (one.writes || two.writes);
                let exposed = !(one.order.is_atomic() && two.order.is_atomic());
                if one.thread != two.thread && conflict && exposed && !self.hb.has(a, b) && !self.hb.has(b, a) {
                    races.insert((one.site.min(two.site), one.site.max(two.site)));
                }
            }
        }
        races
    }
}
