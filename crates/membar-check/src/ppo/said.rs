//! Step 7 of [`super`]: conditions about marks, dependencies and what was read.
//!
//! 1. Marks: a chain of collectors for each of the three conditions, which only operations with the marks enter and leave.
//! 2. Dependencies: one edge each; through a store, one for each of the store's dependencies and each load that read it.
//! 3. Past an address: what an address came from enters a chain of collectors behind the operation with that address.
//!    Past an ISB: what a branch or an address before the ISB came from enters a chain at the ISB.
//! 4. Another store: the loads of an address since the thread's last store to it fall into groups that read one write. A group
//!    is behind the whole group before it: behind its only load, or behind a collector.
//!
//! An operation may be told to wait twice for the same one; that costs an edge and changes nothing.

use super::{Chain, NONE, Scratch, any_entry, fresh, rectangles};
use crate::kept::{dependency, is_atomic, marks};
use membar_core::{Condition, Conditions, Depends, Kind, Kinds, Marks, Model, OpId, OpKind, Ppo, Source, Trace};

/// A chain that only operations with some marks enter or leave.
#[derive(Default)]
pub(super) struct Marked {
    chain: Chain,
    from: Option<Marks>,
    to: Option<Marks>,
}

/// The loads of an address, since the last store of the thread to it, that read one write.
#[derive(Clone, Copy)]
pub(super) struct Group {
    source: Source,
    /// Everything before the group: a node, or none.
    before: u32,
    /// The last load of the group; others by [`Said::next`].
    last: u32,
}

impl Group {
    pub(super) const EMPTY: Group = Group { source: Source::NONE, before: NONE, last: NONE };
}

/// What the model asks about, and the state of the walk.
#[derive(Default)]
pub(super) struct Said {
    conditions: Conditions,
    marked: Vec<Marked>,
    past: Vec<Chain>,
    isb: Vec<Chain>,
    /// What a branch or an address since the last ISB came from.
    before_isb: Vec<OpId>,
    groups: Vec<Group>,
    next: Vec<u32>,
    /// A read that returned something else than recorded.
    other: Option<(OpId, Source)>,
}

impl Said {
    /// Before the first thread.
    pub(super) fn start(&mut self, trace: &Trace, model: &Model, other: Option<(OpId, Source)>) {
        self.other = other;
        self.conditions = Conditions::NONE;
        for &condition in Condition::ALL {
            let asked = model.ppo.any(|when| when.also.has(condition));
            let said = match condition {
                Condition::AnotherStore => !model.ppo.entry(Kind::Load, Kind::Load).on_one_address(),
                Condition::FromAtomic => trace.has_marks() || trace.ops().any(|op| trace.kind(op) == OpKind::Rmw),
                Condition::AcquireFromPair => trace.has_marks(),
                Condition::PastIsb => trace.has_marks() && trace.has_dependencies(),
                _ if marks(condition).is_some() => trace.has_marks(),
                _ => trace.has_dependencies(),
            };
            if asked && said {
                self.conditions = self.conditions.with(condition);
            }
        }
        self.groups.clear();
        self.next.clear();
        if self.conditions.has(Condition::AnotherStore) {
            self.groups.resize(trace.addrs(), Group::EMPTY);
            self.next.resize(trace.len(), NONE);
        }
    }

    /// Is there anything to ask?
    pub(super) fn asks(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// Before the first operation of a thread.
    pub(super) fn enter(&mut self, ppo: &Ppo, always: &super::Rows) {
        self.marked.clear();
        self.past.clear();
        self.isb.clear();
        self.before_isb.clear();
        for condition in self.conditions.iter() {
            let mut rows = ppo.rows(|when| when.also.has(condition));
            rows.iter_mut().zip(always).for_each(|(row, always)| row.0 &= !always.0);
            let chains = rectangles(rows).map(|(from, to)| Chain { from, to, ..Chain::default() });
            if let Some([from, to]) = marks(condition) {
                self.marked.extend(chains.map(|chain| Marked { chain, from, to }));
            } else if condition == Condition::PastAddress {
                self.past.extend(chains);
            } else if condition == Condition::PastIsb {
                self.isb.extend(chains);
            }
        }
    }

    /// Forgets the loads of an address.
    pub(super) fn forget(&mut self, x: usize) {
        if let Some(group) = self.groups.get_mut(x) {
            *group = Group::EMPTY;
        }
    }

    fn source(&self, trace: &Trace, op: OpId) -> Source {
        match self.other {
            Some((read, source)) if read == op => source,
            _ => trace.source(op),
        }
    }
}

/// Where the walk is.
pub(super) struct At<'a> {
    pub trace: &'a Trace,
    pub ppo: &'a Ppo,
    pub op: OpId,
    pub node: u32,
    /// The node of the thread's first operation.
    pub base: u32,
    pub kinds: Kinds,
}

impl At<'_> {
    /// The node of an operation of the same thread.
    fn node_of(&self, op: OpId) -> u32 {
        self.base + self.trace.po(op)
    }

    /// Does the table have this condition for an earlier operation and this one?
    fn asked(&self, earlier: OpId, condition: Condition) -> bool {
        any_entry(self.ppo, self.trace.kind(earlier).kinds(), self.kinds, |when| when.also.has(condition))
    }
}

/// The edges into an access, and what later ones need to know of it. A barrier comes by for its dependencies only.
pub(super) fn visit(s: &mut Scratch, at: &At<'_>, edges: &mut Vec<(u32, u32)>, next_node: &mut u32) {
    let said = &mut s.said;
    if !at.kinds.is_empty() {
        said.after_marks(at, edges, next_node);
        said.after_dependencies(at, edges);
        for chain in said.past.iter_mut().chain(&mut said.isb).filter(|chain| chain.to.meets(at.kinds)) {
            pass(chain, at.node, edges, next_node);
        }
        if said.conditions.has(Condition::AnotherStore) {
            said.after_another_store(at, edges, next_node);
        }
    }
    if !said.past.is_empty() {
        for dep in at.trace.dependencies(at.op).iter().filter(|dep| dep.how == Depends::Address) {
            let kinds = at.trace.kind(dep.on).kinds();
            for chain in said.past.iter_mut().filter(|chain| chain.from.meets(kinds)) {
                chain.pending.push(at.node_of(dep.on));
            }
        }
    }
    if !said.isb.is_empty() {
        said.before_isb(at);
    }
}

/// The edges into a further piece of an access.
pub(super) fn visit_piece(s: &mut Scratch, at: &At<'_>, edges: &mut Vec<(u32, u32)>, next_node: &mut u32) {
    s.said.after_dependencies(at, edges);
    if s.said.conditions.has(Condition::AnotherStore) {
        s.said.after_another_store(at, edges, next_node);
    }
}

/// Collects what waits, and puts the node behind it.
fn pass(chain: &mut Chain, node: u32, edges: &mut Vec<(u32, u32)>, next_node: &mut u32) {
    if chain.waits() {
        chain.collect(fresh(next_node), node, edges);
    }
    edges.extend(chain.tail.map(|(collector, _)| (collector, node)));
}

impl Said {
    fn after_marks(&mut self, at: &At<'_>, edges: &mut Vec<(u32, u32)>, next_node: &mut u32) {
        let mine = at.trace.marks(at.op);
        for Marked { chain, from, to } in &mut self.marked {
            if chain.to.meets(at.kinds) && to.is_none_or(|to| mine.meets(to)) {
                pass(chain, at.node, edges, next_node);
            }
            if chain.from.meets(at.kinds) && from.is_none_or(|from| mine.meets(from)) {
                chain.pending.push(at.node);
            }
        }
    }

    /// Keeps what an ISB will wait for; at the ISB, puts it before everything that follows.
    fn before_isb(&mut self, at: &At<'_>) {
        let waits = at.trace.dependencies(at.op).iter().filter(|dep| dep.how != Depends::Data);
        self.before_isb.extend(waits.map(|dep| dep.on));
        if at.trace.marks(at.op).meets(Marks::ISB) {
            for op in self.before_isb.drain(..) {
                let kinds = at.trace.kind(op).kinds();
                for chain in self.isb.iter_mut().filter(|chain| chain.from.meets(kinds)) {
                    chain.pending.push(at.node_of(op));
                }
            }
        }
    }

    fn after_dependencies(&mut self, at: &At<'_>, edges: &mut Vec<(u32, u32)>) {
        for dep in at.trace.dependencies(at.op) {
            let mut kept = self.conditions.iter().filter(|&it| dependency(it) == Some(dep.how));
            if kept.any(|condition| at.asked(dep.on, condition)) {
                edges.push((at.node_of(dep.on), at.node));
            }
        }
        if !at.trace.kind(at.op).reads() {
            return;
        }
        let own = self.source(at.trace, at.op).as_op().filter(|&source| {
            at.trace.thread(source) == at.trace.thread(at.op) && at.trace.po(source) < at.trace.po(at.op)
        });
        let Some(own) = own else { return };
        if self.conditions.has(Condition::FromAtomic)
            && is_atomic(at.trace, own)
            && at.asked(own, Condition::FromAtomic)
        {
            edges.push((at.node_of(own), at.node));
        }
        if self.conditions.has(Condition::AcquireFromPair)
            && at.trace.marks(at.op).meets(Marks::ACQUIRES)
            && let Some(load) = at.trace.reservation(own)
            && at.asked(load, Condition::AcquireFromPair)
        {
            edges.push((at.node_of(load), at.node));
        }
        if self.conditions.has(Condition::ThroughStore) {
            for dep in at.trace.dependencies(own).iter().filter(|dep| dep.how != Depends::Control) {
                if at.asked(dep.on, Condition::ThroughStore) {
                    edges.push((at.node_of(dep.on), at.node));
                }
            }
        }
    }

    fn after_another_store(&mut self, at: &At<'_>, edges: &mut Vec<(u32, u32)>, next_node: &mut u32) {
        let (reads, writes) = (at.kinds.has(Kind::Load), at.kinds.has(Kind::Store));
        let source = self.source(at.trace, at.op);
        let group = &mut self.groups[at.trace.addr(at.op).index()];
        if writes {
            // Everything before it is behind it, and it stands between.
            *group = Group::EMPTY;
        }
        if !reads {
            return;
        }
        if group.last != NONE && group.source != source {
            let one = self.next[group.last as usize] == NONE;
            let before = if one { group.last } else { fresh(next_node) };
            let mut load = group.last;
            while load != NONE && !one {
                edges.push((load, before));
                load = self.next[load as usize];
            }
            *group = Group { source, before, last: NONE };
        }
        self.next[at.node as usize] = group.last;
        group.last = at.node;
        group.source = source;
        if group.before != NONE {
            edges.push((group.before, at.node));
        }
    }
}
