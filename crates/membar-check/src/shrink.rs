//! The smallest part of a forbidden trace that is still forbidden.
//!
//! Problem: given operations that are forbidden by themselves, drop as many as possible.
//!
//! Algorithm: a part must hold the write that each of its reads returned, and both ends of a lock session, so that dropping an
//! operation drops what depends on it. Chunks are dropped first, halving their size when nothing more goes (delta
//! debugging), then single operations until none can go. `final` and `order` lines are dropped in the same way.
//!
//! Starting from different ends, and from a little more than was needed, gives several such parts; the smallest is taken.
//!
//! Guarantees: the result is forbidden, and no single operation or line (with what depends on it) can be dropped from
//! it. A smaller part that is reached only by dropping two at once may exist.
//!
//! Complexity: O(m²) decisions of at most m operations in the worst case, O(m log m) if most can go.
//!
//! References: Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.

use crate::limits::Limits;
use crate::{Checker, Decision};
use membar_core::{AddrId, AddrName, Kinds, Marks, Model, OpId, OpKind, Proof, ResolveScratch, Source, Trace, Verdict};

/// A part of a trace.
pub struct Part {
    /// The operations that are left; operation `i` of `trace` is `ops[i]` of the whole trace.
    pub ops: Vec<OpId>,
    /// They, as their own trace with the original line numbers.
    pub trace: Trace,
}

/// The operations and everything that they depend on: sources, both ends of lock sessions, and load reserveds.
pub(crate) fn closure(trace: &Trace, ops: &[OpId]) -> Vec<OpId> {
    let mut keep = vec![false; trace.len()];
    let mut todo: Vec<OpId> = ops.to_vec();
    while let Some(op) = todo.pop() {
        if std::mem::replace(&mut keep[op.index()], true) {
            continue;
        }
        todo.extend(trace.source(op).as_op());
        todo.extend(trace.partner(op));
        todo.extend(trace.reservation(op));
        if trace.held(op) && trace.reservation(op).is_none() {
            // A plain store under a reservation: without the `sc` that ends it, nothing holds the store.
            let later = &trace.thread_ops(trace.thread(op))[trace.po(op) as usize + 1..];
            todo.extend(later.iter().find(|&&other| trace.reservation(other).is_some()));
        }
    }
    trace.ops().filter(|op| keep[op.index()]).collect()
}

/// [`closure`], with the last own store between two reads of one address: without it, the two would seem to be in order for
/// having none.
pub(crate) fn with_stores_between(trace: &Trace, ops: &[OpId]) -> Vec<OpId> {
    let mut all = closure(trace, ops);
    loop {
        let missing = all.iter().filter(|&&op| trace.kind(op).reads()).find_map(|&read| {
            let before = &trace.thread_ops(trace.thread(read))[..trace.po(read) as usize];
            let here = |&&op: &&OpId| trace.addr(op) == trace.addr(read) && trace.kind(op).kinds() != Kinds::NONE;
            let last = before.iter().rev().filter(here).find(|&&op| trace.kind(op).writes() || all.contains(&op));
            last.copied().filter(|op| !all.contains(op))
        });
        let Some(store) = missing else { return all };
        all.push(store);
        all = closure(trace, &all);
    }
}

/// The part of `core` that is left. Items are its operations, then its `final` lines, then its `order` lines.
struct Shrinker<'a> {
    core: &'a Trace,
    model: &'a Model,
    checker: Checker,
    scratch: ResolveScratch,
    limits: &'a Limits,
    keep: Vec<bool>,
}

/// Parts of at most this many operations are small enough.
const SMALL: usize = 6;
/// Operations recorded so near to those of a proof are examined too.
const NEAR: u32 = 24;
/// As long as they are not more than this.
const MOST_NEAR: usize = 1500;

/// The smallest part found: which operations go first decides what is left, so both ends are tried; and where much is left, once
/// more with the operations that were recorded nearby, among which there may be a simpler violation.
pub(crate) fn smallest(whole: &Trace, model: &Model, core: Vec<OpId>, limits: &Limits) -> Option<Part> {
    let both = |ops: Vec<OpId>| {
        [true, false]
            .into_iter()
            .filter_map(|last_first| shrink(whole, model, ops.clone(), last_first, limits))
            .min_by_key(|part| part.ops.len())
    };
    let part = both(core)?;
    if part.ops.len() <= SMALL || limits.passed().is_some() {
        return Some(part);
    }
    let mut near: Vec<OpId> = Vec::new();
    for &op in &part.ops {
        let (low, high) = (op.0.saturating_sub(NEAR), op.0.saturating_add(NEAR).min(whole.len() as u32 - 1));
        near.extend((low..=high).map(OpId));
        let thread = whole.thread_ops(whole.thread(op));
        let place = whole.po(op) as usize;
        near.extend_from_slice(&thread[place.saturating_sub(4)..(place + 4).min(thread.len())]);
    }
    near.sort_unstable();
    near.dedup();
    let near = closure(whole, &near);
    if near.len() > MOST_NEAR {
        return Some(part);
    }
    let other = both(near);
    [Some(part), other].into_iter().flatten().min_by_key(|part| part.ops.len())
}

/// Shrinks `ops`, a forbidden part of `whole`, trying its last operations first or its first ones. Stops early, with what it
/// has, when a limit is passed.
pub(crate) fn shrink(whole: &Trace, model: &Model, ops: Vec<OpId>, last_first: bool, limits: &Limits) -> Option<Part> {
    let mut kept: Vec<bool> = vec![false; whole.len()];
    let mut used: Vec<bool> = vec![false; whole.addrs()];
    for &op in &ops {
        kept[op.index()] = true;
        if let Some(used) = used.get_mut(whole.addr(op).index()) {
            *used = true;
        }
    }
    let source_kept = |i: usize| match (whole.final_sources()[i], whole.final_sources()[i].as_op()) {
        // The trace is forbidden without it, so it is shown without it.
        (Source::UNWRITTEN, _) => false,
        (_, Some(op)) => kept[op.index()],
        (_, None) => used[whole.finals[i].addr.index()],
    };
    let mut core = whole.restricted_to(&ops, source_kept, |_| true);
    core.resolve(&mut ResolveScratch::default()).ok()?;
    let items = core.len() + core.finals.len() + core.orders.len();
    let mut shrinker = Shrinker {
        core: &core,
        model,
        checker: Checker::new(),
        scratch: ResolveScratch::default(),
        limits,
        keep: vec![true; items],
    };
    let keep = shrinker.keep.clone();
    shrinker.forbidden(&keep)?;
    // The lines first: without them fewer operations matter.
    shrinker.drop_many((core.len()..items).collect());
    loop {
        let before = shrinker.count();
        shrinker.drop_many(if last_first { (0..items).rev().collect() } else { (0..items).collect() });
        if shrinker.count() == before || limits.passed().is_some() {
            break;
        }
    }
    let keep = shrinker.keep.clone();
    let (left, trace) = shrinker.part(&keep)?;
    Some(Part { ops: left.into_iter().map(|op| ops[op.index()]).collect(), trace })
}

impl Shrinker<'_> {
    fn count(&self) -> usize {
        self.keep.iter().filter(|&&keep| keep).count()
    }

    /// Drops as many of the items as can be, in chunks and then one by one.
    fn drop_many(&mut self, mut items: Vec<usize>) {
        let mut size = items.len().div_ceil(2).max(1);
        while !items.is_empty() {
            for chunk in items.chunks(size) {
                if self.limits.passed().is_some() {
                    return;
                }
                let mut keep = self.keep.clone();
                chunk.iter().for_each(|&item| keep[item] = false);
                self.make_consistent(&mut keep);
                if keep != self.keep && self.forbidden(&keep).is_some() {
                    self.keep = keep;
                }
            }
            if size == 1 {
                return;
            }
            items.retain(|&item| self.keep[item]);
            size = size.div_ceil(2);
        }
    }

    /// Drops reads whose write is gone, half sessions, and lines about values that are gone.
    fn make_consistent(&self, keep: &mut [bool]) {
        let core = self.core;
        let mut changed = true;
        while changed {
            changed = false;
            for op in core.ops() {
                if !keep[op.index()] {
                    continue;
                }
                let without_source = core.source(op).as_op().is_some_and(|source| !keep[source.index()]);
                let half_session = core.partner(op).is_some_and(|other| !keep[other.index()]);
                let unreserved = core.reservation(op).is_some_and(|load| !keep[load.index()]);
                if without_source || half_session || unreserved {
                    keep[op.index()] = false;
                    changed = true;
                }
            }
        }
        for (i, source) in core.final_sources().iter().enumerate() {
            if source.as_op().is_some_and(|op| !keep[op.index()]) {
                keep[core.len() + i] = false;
            }
        }
    }

    fn part(&mut self, keep: &[bool]) -> Option<(Vec<OpId>, Trace)> {
        let core = self.core;
        let ops: Vec<OpId> = core.ops().filter(|op| keep[op.index()]).collect();
        let orders = core.len() + core.finals.len();
        let mut part = core.restricted_to(&ops, |i| keep[core.len() + i], |i| keep[orders + i]);
        part.resolve(&mut self.scratch).ok()?;
        Some((ops, part))
    }

    fn forbidden(&mut self, keep: &[bool]) -> Option<()> {
        let (_, part) = self.part(keep)?;
        (self.checker.decide_in_order(&part, self.model, self.limits) == Decision::Forbidden).then_some(())
    }
}

/// A smaller part of a trace with repeated values that is still forbidden: the operations on the addresses that the proof
/// speaks of, or without some of their threads' other operations. All writes of an address stay, so that reads keep their candidates.
pub(crate) fn open(trace: &Trace, model: &Model, proof: &Proof, limits: &Limits) -> Option<Part> {
    let mentioned = proof.ops();
    let addrs: Vec<membar_core::AddrId> = mentioned.iter().map(|&op| trace.addr(op)).collect();
    let writes = |op: OpId| trace.kind(op).writes() && addrs.contains(&trace.addr(op));
    let in_proof = |op: &OpId| mentioned.binary_search(op).is_ok();
    let small: Vec<OpId> = trace.ops().filter(|op| in_proof(op) || writes(*op)).collect();
    let large: Vec<OpId> = trace
        .ops()
        .filter(|&op| trace.kind(op) == membar_core::OpKind::Fence || addrs.contains(&trace.addr(op)))
        .collect();
    for ops in [small, large, trace.ops().collect()] {
        let keep = |i: usize| addrs.contains(&trace.finals[i].addr) || ops.len() == trace.len();
        let mut part = trace.restricted_to(&ops, keep, |_| true);
        let resolved = part.resolve_recorded(&mut Default::default()).is_ok() && part.left_out().is_none();
        if resolved && Checker::new().decide(&part, model, limits) == crate::Decision::Forbidden {
            return Some(Part { ops, trace: part });
        }
    }
    None
}

/// A smaller part of a trace with accesses that overlap that is still forbidden, in accesses as recorded. All writes of a location
/// that the proof speaks of stay, so that reads keep their candidates; of the rest, what can be dropped one by one.
pub(crate) fn mixed(trace: &Trace, model: &Model, limits: &Limits) -> Option<Part> {
    let form = trace.for_model(model);
    let Verdict::Forbidden(proof) = Checker::new().check(&form, model, limits).verdict else { return None };
    let mut named: Vec<OpId> = proof.ops().into_iter().map(|op| form.recorded(op)).collect();
    named.sort_unstable();
    named.dedup();
    let location = |addr: AddrId| trace.addr_names().get(addr.index()).and_then(|name| name.bytes()).map(|(of, _)| of);
    let mut places: Vec<&AddrName> = named.iter().filter_map(|&op| location(trace.addr(op))).collect();
    if let Proof::UnwrittenFinal(addr) = proof {
        places.extend(form.addr_names()[addr.index()].bytes().map(|(of, _)| of));
    }
    let here = |op: OpId| location(trace.addr(op)).is_some_and(|of| places.contains(&of));
    let stays = |op: OpId| trace.kind(op).writes() && here(op) || trace.marks(op).meets(Marks::RESERVES) && here(op);
    let part = |ops: &[OpId]| {
        let keep = |i: usize| location(trace.finals[i].addr).is_some_and(|of| places.contains(&of));
        let mut part = trace.restricted_to(ops, keep, |_| true);
        let whole = part.resolve_recorded(&mut Default::default()).is_ok() && part.left_out().is_none();
        let forbidden = whole && Checker::new().decide(&part.for_model(model), model, limits) == Decision::Forbidden;
        forbidden.then_some(part)
    };
    let small: Vec<OpId> = trace.ops().filter(|&op| named.binary_search(&op).is_ok() || stays(op)).collect();
    let large: Vec<OpId> = trace.ops().filter(|&op| trace.kind(op) == OpKind::Fence || here(op)).collect();
    let candidates = [small, large, trace.ops().collect()];
    let (mut ops, mut found) = candidates.into_iter().find_map(|ops| part(&ops).map(|part| (ops, part)))?;
    for op in ops.clone() {
        if stays(op) || limits.passed().is_some() {
            continue;
        }
        let fewer: Vec<OpId> = ops.iter().copied().filter(|&other| other != op).collect();
        if let Some(smaller) = part(&fewer) {
            (ops, found) = (fewer, smaller);
        }
    }
    Some(Part { ops, trace: found })
}
