//! The shortest proof of a few operations.
//!
//! Problem: of all proofs by R1-R7 that a small trace is forbidden, find one with the fewest steps.
//!
//! Algorithm: the cost of an edge is one, plus the cost of the path that is its premise; the cost of a path is the sum of its edges.
//! 1. All edges that need no premise cost one (initial and final values cost nothing: everybody knows them).
//! 2. All-pairs shortest paths (Floyd, Warshall).
//! 3. R6 and R7 for every read and write; an edge that becomes cheaper goes back to 2.
//! 4. The cheapest cycle.
//!
//! Invariant: an inferred edge costs more than its premise, so derivations are not cyclic.
//!
//! Complexity: O(m³) a round for m events, a few rounds. For at most [`MOST`] events.
//!
//! Guarantees: minimal in the sum of costs, which counts a step as often as it is used; `None` if the rules alone do not refute
//! the trace.

use crate::problem::pair_rule;
use membar_core::{Event, Lemma, Model, OpId, OpKind, Proof, ProofStep, Rule, Source, Trace};

/// Events that this is meant for.
pub(crate) const MOST: usize = 96;

const FAR: u32 = u32::MAX / 4;

#[derive(Clone, Copy)]
struct Edge {
    cost: u32,
    rule: Rule,
    /// Ends of the path that is the premise.
    premise: Option<(usize, usize)>,
}

struct Search<'a> {
    trace: &'a Trace,
    events: Vec<Event>,
    edges: Vec<Option<Edge>>,
    cost: Vec<u32>,
    /// First event after `i` on the way from `i` to `j`.
    next: Vec<usize>,
}

/// The proof, if the rules find one.
pub(crate) fn prove(trace: &Trace, model: &Model) -> Option<Proof> {
    if let Some(op) = trace.ops().find(|&op| trace.source(op) == Source::UNWRITTEN) {
        return Some(Proof::Unwritten(op));
    }
    let mut events: Vec<Event> = trace.memory_ops().map(Event::from).collect();
    events.extend([Event::INIT, Event::FINAL]);
    if events.len() > MOST {
        return None;
    }
    let m = events.len();
    let mut search =
        Search { trace, events, edges: vec![None; m * m], cost: vec![FAR; m * m], next: vec![usize::MAX; m * m] };
    search.observe(model);
    let reads = search.reads(model);
    // Without a write order, R6 and R7 are about locks, and R7 on an address can only close a cycle.
    let is_lock = |&(read, _, _): &(usize, usize, usize)| {
        search.events[read].as_op().is_some_and(|op| trace.kind(op) == OpKind::Release)
    };
    let (inferring, closing) =
        if model.write_order { (reads, Vec::new()) } else { reads.into_iter().partition(is_lock) };
    loop {
        search.shortest_paths();
        if !search.infer(&inferring) {
            break;
        }
    }
    search.proof(&closing)
}

impl Search<'_> {
    fn m(&self) -> usize {
        self.events.len()
    }

    fn index(&self, event: Event) -> usize {
        self.events.iter().position(|&other| other == event).expect("an event of the trace")
    }

    fn source(&self, source: Source) -> Option<usize> {
        match source {
            Source::INIT => Some(self.index(Event::INIT)),
            source => source.as_op().map(|op| self.index(op.into())),
        }
    }

    fn put(&mut self, i: usize, j: usize, edge: Edge) -> bool {
        let at = i * self.m() + j;
        let better = self.edges[at].is_none_or(|known| edge.cost < known.cost);
        if better {
            self.edges[at] = Some(edge);
        }
        better
    }

    fn fact(&mut self, i: usize, j: usize, rule: Rule) {
        let cost = if matches!(rule, Rule::Init | Rule::Final) { 0 } else { 1 };
        self.put(i, j, Edge { cost, rule, premise: None });
    }

    fn observe(&mut self, model: &Model) {
        let trace = self.trace;
        let ops: Vec<OpId> = trace.memory_ops().collect();
        let (init, end) = (self.index(Event::INIT), self.index(Event::FINAL));
        self.fact(init, end, Rule::Init);
        for (i, &a) in ops.iter().enumerate() {
            self.fact(init, i, Rule::Init);
            self.fact(i, end, Rule::Final);
            for (j, &b) in ops.iter().enumerate() {
                if let Some(rule) = pair_rule(trace, model, a, b) {
                    self.fact(i, j, rule);
                }
            }
            let po_before = |write: OpId| trace.thread(write) == trace.thread(a) && trace.po(write) < trace.po(a);
            let excluded = trace.kind(a) == OpKind::Release && !model.lock_exclusion;
            let Some(source) = self.source(trace.source(a)).filter(|_| !excluded) else { continue };
            let forwarded = trace.kind(a) == OpKind::Load
                && model.store_forwarding
                && model.write_order
                && trace.source(a).as_op().is_some_and(po_before);
            if !forwarded && source != init {
                self.fact(source, i, Rule::ReadsFrom);
            }
            if model.store_forwarding && model.write_order && trace.kind(a).reads() {
                for (j, &b) in ops.iter().enumerate() {
                    if j != source && trace.kind(b).writes() && trace.addr(b) == trace.addr(a) && po_before(b) {
                        self.fact(j, source, Rule::OwnStore { load: a });
                    }
                }
            }
        }
        for order in trace.order_ops() {
            for (k, &a) in order.iter().enumerate() {
                for &b in &order[k + 1..] {
                    self.fact(self.index(a.into()), self.index(b.into()), Rule::WriteOrder);
                }
            }
        }
    }

    /// (read, its source, another write of the address)
    fn reads(&self, model: &Model) -> Vec<(usize, usize, usize)> {
        let trace = self.trace;
        let mut reads = Vec::new();
        let mut add = |read: usize, source: usize, addr| {
            for (j, event) in self.events.iter().enumerate() {
                if let Some(op) = event.as_op()
                    && trace.kind(op).writes()
                    && trace.addr(op) == addr
                    && j != source
                    && j != read
                {
                    reads.push((read, source, j));
                }
            }
        };
        for (i, event) in self.events.iter().enumerate() {
            if let Some(op) = event.as_op()
                && (trace.kind(op) != OpKind::Release || model.lock_exclusion)
                && let Some(source) = self.source(trace.source(op))
            {
                add(i, source, trace.addr(op));
            }
        }
        for (end, &source) in trace.finals.iter().zip(trace.final_sources()) {
            add(self.index(Event::FINAL), self.source(source).expect("written"), end.addr);
        }
        reads
    }

    fn shortest_paths(&mut self) {
        let m = self.m();
        for i in 0..m {
            for j in 0..m {
                let at = i * m + j;
                (self.cost[at], self.next[at]) = match self.edges[at] {
                    Some(edge) => (edge.cost, j),
                    None => (FAR, usize::MAX),
                };
            }
        }
        for k in 0..m {
            for i in 0..m {
                let to_k = self.cost[i * m + k];
                if to_k >= FAR || i == k {
                    continue;
                }
                for j in 0..m {
                    let via = to_k + self.cost[k * m + j];
                    if via < self.cost[i * m + j] && j != k {
                        self.cost[i * m + j] = via;
                        self.next[i * m + j] = self.next[i * m + k];
                    }
                }
            }
        }
    }

    fn infer(&mut self, reads: &[(usize, usize, usize)]) -> bool {
        let m = self.m();
        let end = self.index(Event::FINAL);
        let mut better = false;
        for &(read, source, write) in reads {
            let before = self.cost[write * m + read];
            if before < FAR {
                let rule = Rule::BeforeRead { load: self.events[read] };
                better |= self.put(write, source, Edge { cost: before + 1, rule, premise: Some((write, read)) });
            }
            let after = self.cost[source * m + write];
            if after < FAR && read != end {
                let edge = Edge { cost: after + 1, rule: Rule::AfterRead, premise: Some((source, write)) };
                better |= self.put(read, write, edge);
            }
        }
        better
    }

    fn proof(&self, closing: &[(usize, usize, usize)]) -> Option<Proof> {
        let m = self.m();
        let cost = |i: usize, j: usize| self.cost[i * m + j];
        // The cheapest way from an event back to itself, in cost and then in length.
        let best = (0..m).filter(|&i| cost(i, i) < FAR).min_by_key(|&i| (cost(i, i), self.path(i, i).len()));
        let around = |&&(read, source, write): &&(usize, usize, usize)| cost(source, write) + cost(write, read) + 1;
        let closed = closing.iter().filter(|found| around(found) < FAR).min_by_key(around);
        let mut lemma = Lemma::default();
        let mut done = vec![u32::MAX; m * m];
        match (best, closed) {
            (Some(i), closed) if closed.is_none_or(|found| cost(i, i) <= around(&found)) => {
                lemma.cycle = self.path(i, i).into_iter().map(|edge| self.write(edge, &mut lemma, &mut done)).collect();
            }
            (_, Some(&(read, source, write))) => {
                let mut ways = [(source, write), (write, read)].map(|(from, to)| {
                    self.path(from, to).into_iter().map(|edge| self.write(edge, &mut lemma, &mut done)).collect()
                });
                let premises: Vec<u32> = std::mem::take(&mut ways[0]);
                lemma.cycle = std::mem::take(&mut ways[1]);
                lemma.cycle.push(lemma.steps.len() as u32);
                let (from, to) = (self.events[read], self.events[write]);
                lemma.steps.push(ProofStep { from, to, rule: Rule::AfterRead, premises });
            }
            _ => return None,
        }
        Some(Proof::Cycle(vec![lemma]))
    }

    fn path(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let mut path = Vec::new();
        let mut at = from;
        loop {
            let next = self.next[at * self.m() + to];
            path.push((at, next));
            at = next;
            if at == to {
                return path;
            }
        }
    }

    fn write(&self, (i, j): (usize, usize), lemma: &mut Lemma, done: &mut [u32]) -> u32 {
        let at = i * self.m() + j;
        if done[at] != u32::MAX {
            return done[at];
        }
        let edge = self.edges[at].expect("an edge of the path");
        let premises = match edge.premise {
            Some((from, to)) => self.path(from, to).into_iter().map(|step| self.write(step, lemma, done)).collect(),
            None => Vec::new(),
        };
        done[at] = lemma.steps.len() as u32;
        lemma.steps.push(ProofStep { from: self.events[i], to: self.events[j], rule: edge.rule, premises });
        done[at]
    }
}
