//! One walk along a thread: steps 1 to 5 of [`super`], each a method.
//!
//! Invariants: an edge leads from an earlier operation to a later one, directly or through collectors, whose numbers come after those of all
//! operations. Each operation is related to those before it when the walk has come to it, and to nothing after it.
//!
//! Complexity: O(1) edges for each operation, chain of collectors and open session.

use super::said::{self, At};
use super::{Chain, LOCKS, NONE, PpoEdges, Rows, Scratch, Session, any_entry, barrier, column, fresh, rectangles};
use membar_core::{Kind, Kinds, Model, OpId, OpKind, Ppo, Trace};

/// The walk, at one of the thread's operations.
pub(super) struct Walk<'a> {
    trace: &'a Trace,
    model: &'a Model,
    always: &'a Rows,
    ops: &'a [OpId],
    /// The node of the first operation.
    base: u32,
    edges: &'a mut Vec<(u32, u32)>,
    next_node: &'a mut u32,
    s: &'a mut Scratch,
    /// Kinds that are in order among themselves: an operation stands for all earlier ones of its kind.
    ordered: Kinds,
    /// How many chains the model itself needs; those of barriers follow.
    implicit: usize,
    /// Are loads of one address unordered?
    load_list: bool,
    /// Does the model have entries about sessions?
    sessions: bool,
    /// Does it have conditions about marks, dependencies or what was read?
    says: bool,
    /// The last operation of each kind.
    last_of: [u32; 4],
}

/// An operation that is not a barrier.
#[derive(Clone, Copy)]
struct Here {
    node: u32,
    kind: OpKind,
    kinds: Kinds,
    /// Its address or lock.
    at: usize,
}

impl<'a> Walk<'a> {
    /// Before the first operation of a thread whose first node is `base`.
    pub(super) fn new(
        all: &'a mut PpoEdges,
        trace: &'a Trace,
        model: &'a Model,
        always: &'a Rows,
        (ops, base): (&'a [OpId], u32),
    ) -> Walk<'a> {
        let PpoEdges { edges, next_node, scratch: s } = all;
        let in_order = |kind: Kind| always[kind as usize].has(kind);
        // Collectors that the model itself needs: an always-entry whose earlier kind is not in order.
        let implicit = Kind::ALL.map(|kind| if in_order(kind) { Kinds::NONE } else { always[kind as usize] });
        s.chains.clear();
        s.chains.extend(rectangles(implicit).map(|(from, to)| Chain { from, to, ..Chain::default() }));
        let implicit = s.chains.len();
        let says = s.said.asks();
        if says {
            s.said.enter(&model.ppo, always);
        }
        for &op in ops.iter().filter(|&&op| trace.kind(op) == OpKind::Fence) {
            for (from, to) in rectangles(barrier(trace, model, always, op)) {
                if !s.chains[implicit..].iter().any(|chain| chain.from == from && chain.to == to) {
                    s.chains.push(Chain { from, to, ..Chain::default() });
                }
            }
        }
        Walk {
            ordered: Kinds(Kind::ALL.iter().fold(0, |all, &kind| all | (in_order(kind) as u8) << kind as u8)),
            load_list: !model.ppo.entry(Kind::Load, Kind::Load).on_one_address(),
            sessions: trace.has_locks() && model.ppo.any(|when| when.same_session),
            last_of: [NONE; 4],
            says,
            next_node,
            trace,
            model,
            always,
            ops,
            base,
            edges,
            s,
            implicit,
        }
    }

    /// Lists the edges of the thread.
    pub(super) fn run(mut self) {
        for (i, &op) in self.ops.iter().enumerate() {
            let (node, kind) = (self.base + i as u32, self.trace.kind(op));
            if kind == OpKind::Fence {
                self.fence(op, node);
                if self.says {
                    self.said(op, node);
                }
                continue;
            }
            let here = Here { node, kind, kinds: kind.kinds(), at: self.trace.addr(op).index() };
            self.s.preds.clear();
            if self.follows(i) {
                self.piece(op, here);
                continue;
            }
            self.collect_implicit(here);
            self.after_ordered_kinds(here);
            self.after_same_address(here);
            if self.sessions && !kind.locks() {
                self.in_sessions(here);
            }
            if !self.s.guards.is_empty() && !kind.locks() {
                self.under_guards(here);
            }
            self.link_predecessors(here);
            if self.says && !kind.locks() {
                self.said(op, node);
            }
            if kind.locks() {
                self.lock(here);
            }
            self.pass_chains(here);
            self.remember(here);
        }
        self.forget();
    }

    /// Is it a piece of an access, but not the first that is in memory order?
    #[inline]
    fn follows(&self, i: usize) -> bool {
        self.trace.is_grouped() && {
            let group = self.trace.group(self.ops[i]);
            let before = self.ops[..i].iter().rev().take_while(|&&op| self.trace.group(op) == group);
            before.into_iter().any(|&op| self.trace.kind(op) != OpKind::Fence)
        }
    }

    /// A further piece is where the first one is: what is left are the rules about its address and what it read.
    fn piece(&mut self, op: OpId, here: Here) {
        self.after_same_address(here);
        if !self.s.guards.is_empty() {
            self.under_guards(here);
        }
        self.link_predecessors(here);
        if self.says {
            let at = At { trace: self.trace, ppo: self.ppo(), op, node: here.node, base: self.base, kinds: here.kinds };
            said::visit_piece(self.s, &at, self.edges, self.next_node);
        }
        self.remember_at_address(here);
    }

    #[inline]
    fn ppo(&self) -> &'a Ppo {
        &self.model.ppo
    }

    #[inline]
    fn wanted(&mut self, pred: u32) {
        if pred != NONE && !self.s.preds.contains(&pred) {
            self.s.preds.push(pred);
        }
    }

    /// Step 7.
    fn said(&mut self, op: OpId, node: u32) {
        let kinds = self.trace.kind(op).kinds();
        let at = At { trace: self.trace, ppo: self.ppo(), op, node, base: self.base, kinds };
        said::visit(self.s, &at, self.edges, self.next_node);
    }

    /// Step 2: a barrier makes collectors.
    fn fence(&mut self, op: OpId, node: u32) {
        for (n, (from, to)) in rectangles(barrier(self.trace, self.model, self.always, op)).enumerate() {
            let mut made = self.s.chains[self.implicit..].iter_mut();
            let chain = made.find(|c| c.from == from && c.to == to).expect("made before the walk");
            // The fence's own node serves as its first collector.
            let collector = if n == 0 { node } else { fresh(self.next_node) };
            chain.collect(collector, node, self.edges);
        }
    }

    /// Step 2: what waits for an operation of this kind gets a collector before it.
    #[inline]
    fn collect_implicit(&mut self, here: Here) {
        for chain in &mut self.s.chains[..self.implicit] {
            if chain.to.meets(here.kinds) && chain.waits() {
                chain.collect(fresh(self.next_node), here.node, self.edges);
            }
        }
    }

    /// Step 1.
    #[inline]
    fn after_ordered_kinds(&mut self, here: Here) {
        for earlier in Kind::ALL {
            if self.ordered.has(earlier) && self.always[earlier as usize].meets(here.kinds) {
                self.wanted(self.last_of[earlier as usize]);
            }
        }
    }

    /// Step 3.
    #[inline]
    fn after_same_address(&mut self, here: Here) {
        let x = here.at;
        if self.s.last[0][x] == NONE && self.s.last[1][x] == NONE {
            self.s.touched.push(x as u32);
        }
        let peers = if here.kind.locks() { LOCKS } else { [Kind::Load, Kind::Store] };
        for earlier in peers {
            if !any_entry(self.ppo(), Kinds::of(earlier), here.kinds, |when| when.same_address) {
                continue;
            }
            if earlier == Kind::Load && self.load_list {
                let mut open = self.s.open_loads[x];
                while open != NONE {
                    self.wanted(open);
                    open = self.s.next_open[open as usize];
                }
            } else {
                self.wanted(self.s.last[column(earlier)][x]);
            }
        }
    }

    /// Step 4: an access in the sessions that are open.
    fn in_sessions(&mut self, here: Here) {
        let (node, me) = (here.node, here.kinds);
        let after_acquire = any_entry(self.ppo(), Kinds::of(Kind::Acquire), me, |when| when.same_session);
        let before_release = any_entry(self.ppo(), me, Kinds::of(Kind::Release), |when| when.same_session);
        let Scratch { sessions, preds, .. } = &mut *self.s;
        for session in sessions {
            if after_acquire && !preds.contains(&session.acquire) {
                preds.push(session.acquire);
            }
            if before_release {
                session.inside.push(node);
            }
            for chain in &mut session.chains {
                if chain.to.meets(me) && chain.waits() {
                    chain.collect(fresh(self.next_node), node, self.edges);
                }
                if chain.to.meets(me)
                    && let Some((collector, _)) = chain.tail
                {
                    self.edges.push((collector, node));
                }
                if chain.from.meets(me) {
                    chain.pending.push(node);
                }
            }
        }
    }

    /// Step 5: an access to what locks guard.
    fn under_guards(&mut self, here: Here) {
        let guards = std::mem::take(&mut self.s.guards[here.at]);
        for &lock in &guards {
            for earlier in LOCKS {
                if any_entry(self.ppo(), Kinds::of(earlier), here.kinds, |when| when.guarded) {
                    self.wanted(self.s.last[column(earlier)][lock as usize]);
                }
                if any_entry(self.ppo(), here.kinds, Kinds::of(earlier), |when| when.guarded) {
                    self.s.guarded[column(earlier)][lock as usize].push(here.node);
                    self.s.touched.push(lock);
                }
            }
        }
        self.s.guards[here.at] = guards;
    }

    /// Of two predecessors that are always in order, the later one stands for both.
    #[inline]
    fn link_predecessors(&mut self, here: Here) {
        let (trace, ops, base, always) = (self.trace, self.ops, self.base, self.always);
        let kinds_of = |node: u32| trace.kind(ops[(node - base) as usize]).kinds();
        let implied = |a: u32, b: u32| {
            let (from, to) = (kinds_of(a), kinds_of(b));
            a < b && from.iter().any(|kind| always[kind as usize].meets(to))
        };
        let preds = &self.s.preds;
        for &pred in preds {
            if preds.len() > 4 || !preds.iter().any(|&other| implied(pred, other)) {
                self.edges.push((pred, here.node));
            }
        }
    }

    /// Steps 4 and 5: a session begins or ends.
    fn lock(&mut self, here: Here) {
        let (x, node, ppo) = (here.at, here.node, self.ppo());
        if !self.s.guards.is_empty() {
            let kind = if here.kind == OpKind::Acquire { Kind::Acquire } else { Kind::Release };
            self.edges.extend(self.s.guarded[column(kind)][x].drain(..).map(|access| (access, node)));
        }
        if here.kind == OpKind::Acquire && self.sessions {
            let accesses = Kind::ALL.map(|earlier| {
                let later = |l: &Kind| !l.locks() && ppo.entry(earlier, *l).same_session;
                let row = Kind::ALL.iter().filter(|l| later(l)).fold(0, |all, &l| all | Kinds::of(l).0);
                Kinds(if earlier.locks() { 0 } else { row })
            });
            let chains = rectangles(accesses).map(|(from, to)| Chain { from, to, ..Chain::default() });
            let session = Session { lock: x as u32, acquire: node, inside: Vec::new(), chains: chains.collect() };
            self.s.sessions.push(session);
        } else if let Some(at) = self.s.sessions.iter().position(|session| session.lock == x as u32) {
            let session = self.s.sessions.swap_remove(at);
            self.edges.extend(session.inside.iter().map(|&access| (access, node)));
        }
    }

    /// Step 2: out of the last collector of each chain, and into its next one.
    #[inline]
    fn pass_chains(&mut self, here: Here) {
        let (trace, ops, base) = (self.trace, self.ops, self.base);
        let kinds_of = |node: u32| trace.kind(ops[(node - base) as usize]).kinds();
        let (node, me) = (here.node, here.kinds);
        let Scratch { chains, preds, .. } = &mut *self.s;
        for chain in chains {
            if chain.to.meets(me)
                && let Some((collector, place)) = chain.tail
            {
                // A predecessor after the collector, of a kind that it covers, is already behind it.
                let covered = preds.iter().any(|&pred| pred > place && kinds_of(pred).meets(chain.to));
                if !covered {
                    self.edges.push((collector, node));
                }
            }
            let from = Kinds(chain.from.0 & me.0);
            for kind in Kinds(from.0 & self.ordered.0).iter() {
                chain.last[kind as usize] = Some(node);
            }
            if from.0 & !self.ordered.0 != 0 {
                chain.pending.push(node);
            }
        }
    }

    /// Keeps what later operations ask for.
    #[inline]
    fn remember(&mut self, here: Here) {
        let me = here.kinds;
        for kind in me.iter() {
            self.last_of[kind as usize] = here.node;
        }
        self.remember_at_address(here);
    }

    /// Keeps what later operations on the address ask for.
    #[inline]
    fn remember_at_address(&mut self, here: Here) {
        let (x, node, me) = (here.at, here.node, here.kinds);
        for kind in me.iter() {
            self.s.last[column(kind)][x] = node;
        }
        if self.load_list {
            if me.has(Kind::Store) {
                // Earlier loads of the address are behind this store, which is behind every later one.
                self.s.open_loads[x] = NONE;
            }
            if me.has(Kind::Load) {
                self.s.next_open[node as usize] = self.s.open_loads[x];
                self.s.open_loads[x] = node;
            }
        }
    }

    /// Leaves the buffers as the next thread wants them.
    fn forget(self) {
        let s = self.s;
        s.sessions.clear();
        for x in s.touched.drain(..) {
            let x = x as usize;
            s.last[0][x] = NONE;
            s.last[1][x] = NONE;
            s.open_loads[x] = NONE;
            s.said.forget(x);
            for lists in &mut s.guarded {
                if let Some(list) = lists.get_mut(x) {
                    list.clear();
                }
            }
        }
    }
}
