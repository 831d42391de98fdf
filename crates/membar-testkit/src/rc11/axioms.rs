//! The axioms, in relational algebra.

use crate::graphs::relations::{Event, Rel, Relations};
use membar_core::Order;
use std::collections::BTreeSet;

/// The relations of a graph under RC11. mo is co.
pub(super) struct Ordered<'e> {
    of: Relations<'e>,
    hb: Rel,
}

impl<'e> Ordered<'e> {
    pub(super) fn new(of: Relations<'e>) -> Ordered<'e> {
        let Relations { events, po, rf, .. } = &of;
        let set = |holds: &dyn Fn(&Event) -> bool| of.rel(|a, b| a == b && holds(&events[a]));
        let is_fence = |e: &Event| e.location.is_none();
        let writes = |e: &Event| e.writes && e.order.is_atomic();
        let reads = |e: &Event| e.reads && e.order.is_atomic();
        // [≥rel];([F];po)?;[W]
        let fence = set(&|e| is_fence(e) && e.order.releases());
        let releases = set(&|e| writes(e) && e.order.releases()).or(&fence.then(po).then(&set(&writes)));
        // [R];(po;[F])?;[≥acq]
        let fence = set(&|e| is_fence(e) && e.order.acquires());
        let acquires = set(&|e| reads(e) && e.order.acquires()).or(&set(&reads).then(po).then(&fence));
        let rs = set(&writes).then(&rf.then(&set(&|e| reads(e) && writes(e))).plus().or_same());
        let sw = releases.then(&rs).then(rf).then(&acquires);
        let hb = po.or(&sw).plus();
        Ordered { of, hb }
    }

    /// Whether the graph is one of RC11.
    pub(super) fn is_rc11(&self) -> bool {
        let Relations { po, rf, co, fr, .. } = &self.of;
        let eco = rf.or(co).or(fr).plus();
        let coherent = self.hb.then(&eco.or_same()).is_irreflexive();
        coherent && self.of.is_atomic() && po.or(rf).is_acyclic() && self.psc(&eco).is_acyclic()
    }

    /// Whether the graph is one of SC.
    pub(super) fn is_sequential(&self) -> bool {
        self.of.is_sequential()
    }

    fn psc(&self, eco: &Rel) -> Rel {
        let (Relations { events, po, co, fr, .. }, hb) = (&self.of, &self.hb);
        let rel = |holds: &dyn Fn(usize, usize) -> bool| self.of.rel(holds);
        let elsewhere = rel(&|a, b| po.has(a, b) && !events[a].same_location(&events[b]));
        let here = rel(&|a, b| hb.has(a, b) && events[a].same_location(&events[b]));
        let scb = po.or(&elsewhere.then(hb).then(&elsewhere)).or(&here).or(co).or(fr);

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
        for (b, two) in self.of.events.iter().enumerate() {
            for (a, one) in self.of.events[..b].iter().enumerate() {
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
