//! The smallest part of a forbidden trace that is still forbidden.
//!
//! Problem: given operations that are forbidden by themselves, drop as many as possible.
//!
//! Algorithm: a part must hold the write that each of its reads returned, and both ends of a lock session, so that dropping an
//! operation drops what depends on it. Chunks are dropped first, halving their size when nothing more goes (delta
//! debugging), then single operations until none can go. `final` and `order` lines are dropped in the same way.
//!
//! Guarantees: the result is forbidden, and no single operation or line (with what depends on it) can be dropped from
//! it. A smaller part that is reached only by dropping two at once may exist.
//!
//! Complexity: O(m²) decisions of at most m operations in the worst case, O(m log m) if most can go.
//!
//! References: Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.

use crate::limits::Limits;
use crate::{Checker, Decision};
use membar_core::{Model, OpId, OpKind, ResolveScratch, Source, Trace};

/// A part of a trace.
pub struct Part {
    /// The operations that are left; operation `i` of `trace` is `ops[i]` of the whole trace.
    pub ops: Vec<OpId>,
    /// They, as a trace of their own with the original line numbers.
    pub trace: Trace,
}

/// The operations and everything that they depend on: sources, and both ends of lock sessions.
pub(crate) fn closure(trace: &Trace, ops: &[OpId]) -> Vec<OpId> {
    let mut keep = vec![false; trace.len()];
    let mut release = vec![None; if ops.iter().any(|&op| trace.kind(op) == OpKind::Acquire) { trace.len() } else { 0 }];
    if !release.is_empty() {
        for op in trace.ops().filter(|&op| trace.kind(op) == OpKind::Release) {
            if let Some(acquire) = trace.source(op).as_op() {
                release[acquire.index()] = Some(op);
            }
        }
    }
    let mut todo: Vec<OpId> = ops.to_vec();
    while let Some(op) = todo.pop() {
        if std::mem::replace(&mut keep[op.index()], true) {
            continue;
        }
        todo.extend(trace.source(op).as_op());
        todo.extend(release.get(op.index()).copied().flatten());
    }
    trace.ops().filter(|op| keep[op.index()]).collect()
}

/// One thing that can be dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    Op(OpId),
    Final(usize),
    Order(usize),
}

struct Shrinker<'a> {
    whole: &'a Trace,
    model: &'a Model,
    checker: Checker,
    scratch: ResolveScratch,
    limits: &'a Limits,
}

/// Shrinks `ops`, a forbidden part of `whole`. Stops early, with what it has, when a limit is passed.
pub(crate) fn shrink(whole: &Trace, model: &Model, ops: Vec<OpId>, limits: &Limits) -> Option<Part> {
    let mut shrinker = Shrinker { whole, model, checker: Checker::new(), scratch: ResolveScratch::default(), limits };
    let mut items: Vec<Item> = ops.iter().map(|&op| Item::Op(op)).collect();
    items.extend((0..whole.finals.len()).map(Item::Final));
    items.extend((0..whole.orders.len()).map(Item::Order));
    items = shrinker.consistent(&items);
    shrinker.forbidden(&items)?;
    // The lines first: without them there are fewer ways to depend on each other.
    let lines: Vec<Item> = items.iter().copied().filter(|item| !matches!(item, Item::Op(_))).collect();
    items = shrinker.without_many(items, lines);
    let mut before = usize::MAX;
    while items.len() < before && limits.passed().is_none() {
        before = items.len();
        let candidates: Vec<Item> = items.iter().rev().copied().collect();
        items = shrinker.without_many(items, candidates);
    }
    let trace = shrinker.forbidden(&items)?;
    let ops = items.iter().filter_map(|item| if let Item::Op(op) = item { Some(*op) } else { None }).collect();
    Some(Part { ops, trace })
}

impl Shrinker<'_> {
    /// Drops as many of the candidates as can be, in chunks and then one by one.
    fn without_many(&mut self, mut items: Vec<Item>, candidates: Vec<Item>) -> Vec<Item> {
        let mut size = candidates.len().div_ceil(2).max(1);
        let mut left = candidates;
        while !left.is_empty() && self.limits.passed().is_none() {
            let mut kept = Vec::new();
            for chunk in left.chunks(size) {
                let fewer: Vec<Item> = items.iter().copied().filter(|item| !chunk.contains(item)).collect();
                let fewer = self.consistent(&fewer);
                if fewer.len() < items.len() && self.forbidden(&fewer).is_some() {
                    items = fewer;
                } else {
                    kept.extend(chunk.iter().copied());
                }
            }
            kept.retain(|item| items.contains(item));
            if size == 1 {
                break;
            }
            (left, size) = (kept, size.div_ceil(2));
        }
        items
    }

    /// Without reads whose write is gone, half sessions, and lines about values that are gone.
    fn consistent(&self, items: &[Item]) -> Vec<Item> {
        let whole = self.whole;
        let mut keep = vec![false; whole.len()];
        for item in items {
            if let Item::Op(op) = item {
                keep[op.index()] = true;
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for item in items {
                let Item::Op(op) = *item else { continue };
                let Some(source) = whole.source(op).as_op() else { continue };
                if keep[op.index()] && !keep[source.index()] {
                    keep[op.index()] = false;
                    changed = true;
                }
                // An acquire that was released must not come to hold the lock forever.
                if whole.kind(op) == OpKind::Release && !keep[op.index()] && keep[source.index()] {
                    keep[source.index()] = false;
                    changed = true;
                }
            }
        }
        let mut kept: Vec<Item> = items
            .iter()
            .copied()
            .filter(|item| match *item {
                Item::Op(op) => keep[op.index()],
                Item::Final(i) => match whole.final_sources()[i] {
                    Source::INIT => true,
                    source => source.as_op().is_some_and(|op| keep[op.index()]),
                },
                Item::Order(_) => true,
            })
            .collect();
        // A released acquire whose release was never among the items goes too.
        let released: Vec<OpId> = kept
            .iter()
            .filter_map(|item| match *item {
                Item::Op(op) if whole.kind(op) == OpKind::Release => whole.source(op).as_op(),
                _ => None,
            })
            .collect();
        kept.retain(|item| match *item {
            Item::Op(op) if whole.kind(op) == OpKind::Acquire => released.contains(&op) || whole.held().contains(&op),
            _ => true,
        });
        kept
    }

    /// The part as a trace, if it is forbidden.
    fn forbidden(&mut self, items: &[Item]) -> Option<Trace> {
        let ops: Vec<OpId> =
            items.iter().filter_map(|item| if let Item::Op(op) = item { Some(*op) } else { None }).collect();
        let mut part = self.whole.restricted_to(&ops, |_| true);
        let finals = items.iter().filter_map(|item| if let Item::Final(i) = item { Some(*i) } else { None });
        part.finals = finals.map(|i| self.whole.finals[i]).collect();
        let orders = items.iter().filter_map(|item| if let Item::Order(i) = item { Some(*i) } else { None });
        let orders: Vec<_> = orders.map(|i| self.whole.orders[i].addr).collect();
        part.orders.retain(|order| orders.contains(&order.addr));
        part.resolve(&mut self.scratch).ok()?;
        (self.checker.decide(&part, self.model, self.limits) == Decision::Forbidden).then_some(part)
    }
}
