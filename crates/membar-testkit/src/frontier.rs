//! Frontiers: the algorithms of Lv, Sun, Ye, Fan and Wu, as they are written.
//!
//! Problem: is there an order of the writes of each address, and of the sessions of each lock, under which memory order
//! has no cycle? For models with a write order.
//!
//! Algorithm ([`Algorithm::Baseline`], section 4 of the paper):
//! 1. *Static edges*: writes-to, and local order. A cycle of them refutes the trace.
//! 2. A *frontier* holds, per thread and address, the last write visited and, per thread and lock, the last acquire or
//!    release visited; it begins with ⊥ everywhere. A *next frontier* has one of them replaced by the one that follows it
//!    in its thread: the *active operation* u'.
//! 3. `ExploreFrontier`, depth first. An acquire comes after the last release visited of its lock (Syn); a write after the
//!    last write w visited of its address, and so does it after every read of w (Co).
//! 4. `FindPath(u', u')`: do the new edges close a cycle? If so they are taken back, and another next frontier is tried.
//!
//! With pending periods on one clock ([`Algorithm::Active`], section 5), u ↣ v (`u →RT v`) if `t_rc(u) < t_e(v)`, where
//! `t_e` is the begin of a period, and `t_rc` (*relaxed commit time*, definition 1) its end; a store that may be in a
//! buffer then has the least `t_rc` of its successors by static edges instead, and ∞ if it has none.
//! 5. The *active period* of an operation is from its `t_e` to the `t_rc` of the one that follows it in its thread on its
//!    address or lock. A frontier is *active* if no two of its operations have disjoint active periods; only active ones
//!    are visited.
//! 6. If u' ↣ r for a read r of w, no next frontier can help, as u' is behind w in all of them: go back.
//! 7. `FindTimedPath(u', u')` instead of `FindPath`: a path that returns to u' with at most one ↣, looking no further than
//!    the relaxed pending period of u'.
//!
//! Invariant: between frontiers, the graph with static edges and those of the frontiers on the stack, and ↣, has no cycle.
//!
//! Why one ↣ is enough: let two of a cycle be a ↣ b and c ↣ d. If `t_e(b) ≤ t_e(d)` then a ↣ d, otherwise c ↣ b, and either
//! closes a shorter cycle with fewer of them.
//!
//! Why looking both ways is enough (see the deviations): let u' →* a ↣ b →* u' be a cycle. If the way from u' to a is cut at
//! x, that is u' ↣ x →* a, then not a ↣ x by the invariant, so `t_rc(u') < t_e(x) ≤ t_rc(a) < t_e(b)`: u' ↣ b, which the way
//! back finds. It is not cut before b, at some y with b →* y ↣ u': else `t_e(b) ≤ t_rc(y) < t_e(u') ≤ t_rc(u')`. The same the
//! other way round; and a cycle without ↣ through x is found on the way back to x.
//!
//! Why inactive frontiers can be left out: visit the writes and lock operations in memory order. If x is visited and y' is
//! not, x is before y', so not y' ↣ x: the periods of x and of the operation before y' are not disjoint.
//!
//! Complexity: O(n^2) for static edges; then O(n) for each of the O(n^(p(a+l))) frontiers, for p threads, a addresses and l
//! locks. With periods in which a thread has C operations, O(pC) for each of the O(n C^(p(a+l)-1)) active ones. So the paper
//! says; but it counts frontiers, not visits. The continuation of a frontier depends on the orders that led there, and there
//! are exponentially many: a wrong choice that shows only k visits later is tried with all interleavings of these.
//!
//! Guarantees: allowed and forbidden are both right, except that [`Algorithm::AsPrinted`] allows too much. Other than the
//! rest of this crate it takes traces of any length, and does not recur.
//!
//! Deviations from the paper:
//! 1. Function 5 misses cycles, so that theorem 2 does not hold. It follows edges from u' until it finds v with v ↣ u', and
//!    lemma 6 says that a cycle that it cuts off (u' ↣ v) is found when a later operation becomes the active one; but if v is
//!    a read, there may be no such operation. The smallest example has four operations, all on one address, where A := 1 is
//!    visited first: thread 0 A := 1 @ 0:1, thread 1 A := 2 @ 0:1, thread 2 A == 2 @ 2:3, thread 3 A == 0 @ 5:6. And where ↣ is
//!    between two operations neither of which is active, it finds nothing either. We look both ways from u': for a reached
//!    from it and b from which it is reached, with a ↣ b. [`Algorithm::AsPrinted`] keeps the paper's way.
//! 2. Functions 2 and 4 remove new edges where they close a cycle, but not where exploring the next frontier fails. We do
//!    both, otherwise they would be in the way of all that is tried later.
//! 3. As printed, an acquire may be visited while another session on its lock is open, and then gets no edge from it. We
//!    visit an acquire only when the last operation visited on its lock is a release.
//! 4. Line 15 of function 4 adds w → u' once for each read of w, and so not at all where nobody reads w. We always add it.
//! 5. ⊤ after the last operation of each thread would begin at t_∞, so that no frontier with one ⊤ is active; without periods
//!    it only multiplies frontiers. We end when every last operation has been visited; its active period has no end, and
//!    that of ⊥ no begin. ⊥ is a write of the initial value, so reads of that are before the first write.
//! 6. Line 2 of algorithm 1 leaves out time. We look for a static cycle with one ↣ as well, since traces need not keep
//!    the preconditions (definition 2) and missing timestamps are not in program order.
//! 7. The paper's FindPath and FindTimedPath never end where the graph has another cycle, and may take exponential time where
//!    not. We visit each operation once.
//! 8. t_c(u) ≤ t_e(v) orders u and v in the paper; here an operation must end before the other begins. Only the periods of
//!    operations that are done when they end count as they are (in the paper: all but writes). Where the model's writes
//!    are atomic (sc), this is the original time order, of the papers that it cites.
//! 9. Where only timestamps of one thread can be compared, ↣ is not an interval order. Their order is local order then. The
//!    baseline has no ↣ and takes all time order as static edges.
//! 10. Writes-to relates different threads only. That a load returns nothing older than its own thread's last store, and
//!     nothing from a later one, are further static edges: own store → the write that was returned, a later own store → load.
//!     So are what `order` and `final` lines say, and own store → load where the model does not forward.
//! 11. Local order is made with few edges: one that follows from others is left out. So that no relaxed commit time becomes
//!     greater by it, a store's is the least of all that is reached from it. Read-modify-writes are reads and writes.
//! 12. The paper does not say in which order next frontiers are tried. We take first what began first, then by thread and
//!     address.
//!
//! [`Limits::remember`] is not part of the paper: a failed attempt is not repeated after the same write and session
//! orders, which the paper visits once for each interleaving of independent addresses. Comparing on thousands of
//! forbidden traces needs it.
//!
//! References: Lv, Sun, Ye, Fan and Wu, "Efficiently and Completely Verifying Synchronized Consistency Models", technical
//! report, State Key Laboratory of Computer Science, Chinese Academy of Sciences, 2014. Gibbons and Korach, "On Testing
//! Cache-Coherent Shared Memories", SPAA 1994.

use crate::orders::{barrier_keeps, keeps_by_table, timed};
use membar_core::{AddrId, AddrName, Compare, Model, OpId, OpKind, Source, ThreadId, Trace};
use rustc_hash::FxHashSet;
use std::time::Instant;

/// Which of the paper's algorithms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// Algorithm 1 with functions 2 and 3; time order, where there is any, as static edges.
    Baseline,
    /// Algorithm 1 with functions 4 and 5, repaired.
    Active,
    /// The same with function 5 as in the paper: allows some traces that are forbidden.
    AsPrinted,
}

/// When to give up, and what to remember.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The most frontiers to visit.
    pub frontiers: Option<u64>,
    /// When to stop.
    pub deadline: Option<Instant>,
    /// Remember the orders that failed, and do not try them again.
    pub remember: bool,
}

/// The result of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Explored {
    /// Does the model allow the trace? `None` if a limit was passed first.
    pub allowed: Option<bool>,
    /// The frontiers visited, ⊥ not counted.
    pub frontiers: u64,
}

/// Does the model, which has a write order, allow the trace? The trace is resolved and of any length.
pub fn decide(trace: &Trace, model: &Model, algorithm: Algorithm) -> bool {
    let explored = explore(trace, model, algorithm, &Limits { remember: true, ..Limits::default() });
    explored.allowed.expect("no limit, so an answer")
}

/// The same within limits.
pub fn explore(trace: &Trace, model: &Model, algorithm: Algorithm, limits: &Limits) -> Explored {
    assert!(model.write_order, "frontiers are about write orders");
    let forbidden = Explored { allowed: Some(false), frontiers: 0 };
    if trace.has_unwritten() {
        return forbidden;
    }
    let mut graph = Graph::new(trace.len());
    if !add_static_edges(trace, model, algorithm, &mut graph) {
        return forbidden;
    }
    let Some(sorted) = graph.sorted() else { return forbidden };
    let times = Times::new(trace, model, algorithm, &graph, &sorted);
    if times.contradict() {
        return forbidden;
    }
    let mut readers = vec![Vec::new(); trace.len()];
    let mut readers_of_initial = vec![Vec::new(); trace.addrs()];
    for op in trace.ops().filter(|&op| trace.kind(op).reads()) {
        match trace.source(op).as_op() {
            Some(write) => readers[write.index()].push(op),
            None => readers_of_initial[trace.addr(op).index()].push(op),
        }
    }
    let places = places(trace, model);
    let mut search = Search {
        trace,
        algorithm,
        limits,
        times,
        graph,
        next: vec![0; places.len()],
        places,
        visited: vec![Vec::new(); trace.addrs()],
        readers,
        readers_of_initial,
        failed: FxHashSet::default(),
        marks: vec![(0, 0); trace.len()],
        mark: 0,
        frontiers: 0,
    };
    let allowed = search.run();
    Explored { allowed, frontiers: search.frontiers }
}

/// The relaxed commit time of each operation (definition 1), `None` where it is t_∞ or the operation a barrier.
pub fn relaxed_commit_times(trace: &Trace, model: &Model) -> Option<Vec<Option<u64>>> {
    let mut graph = Graph::new(trace.len());
    let sound = add_static_edges(trace, model, Algorithm::Active, &mut graph);
    let sorted = graph.sorted().filter(|_| sound)?;
    let times = Times::new(trace, model, Algorithm::Active, &graph, &sorted);
    Some(times.commit.iter().map(|&commit| (commit != NEVER).then_some(commit)).collect())
}

/// Edges between operations, both ways round.
struct Graph {
    after: Vec<Vec<OpId>>,
    before: Vec<Vec<OpId>>,
}

impl Graph {
    fn new(n: usize) -> Graph {
        Graph { after: vec![Vec::new(); n], before: vec![Vec::new(); n] }
    }

    fn add(&mut self, from: OpId, to: OpId) {
        self.after[from.index()].push(to);
        self.before[to.index()].push(from);
    }

    /// Takes back the edge that was added last among those between the two.
    fn remove(&mut self, from: OpId, to: OpId) {
        let removed = (self.after[from.index()].pop(), self.before[to.index()].pop());
        debug_assert_eq!(removed, (Some(to), Some(from)), "edges are taken back in the opposite order");
    }

    /// The operations so that edges go forward, unless there is a cycle.
    fn sorted(&self) -> Option<Vec<OpId>> {
        let mut waits: Vec<usize> = self.before.iter().map(Vec::len).collect();
        let mut sorted: Vec<OpId> = (0..waits.len() as u32).map(OpId).filter(|op| waits[op.index()] == 0).collect();
        let mut at = 0;
        while let Some(&op) = sorted.get(at) {
            at += 1;
            for &later in &self.after[op.index()] {
                waits[later.index()] -= 1;
                if waits[later.index()] == 0 {
                    sorted.push(later);
                }
            }
        }
        (sorted.len() == waits.len()).then_some(sorted)
    }
}

/// Line 1 of algorithm 1. False if two edges contradict the beginning or the end of the trace.
fn add_static_edges(trace: &Trace, model: &Model, algorithm: Algorithm, graph: &mut Graph) -> bool {
    for thread in 0..trace.threads() as u32 {
        add_local_order(trace, model, trace.thread_ops(ThreadId(thread)), graph);
    }
    if trace.compare() == Compare::Everything && algorithm == Algorithm::Baseline {
        for (first, second) in trace.memory_ops().flat_map(|a| trace.memory_ops().map(move |b| (a, b))) {
            if timed(trace, model, first, second) {
                graph.add(first, second);
            }
        }
    }
    for writes in trace.order_ops() {
        for pair in writes.windows(2) {
            graph.add(pair[0], pair[1]);
        }
    }
    let writes = |addr: AddrId| trace.ops().filter(move |&op| trace.kind(op).writes() && trace.addr(op) == addr);
    for (line, &source) in trace.finals.iter().zip(trace.final_sources()) {
        for write in writes(line.addr).filter(|&write| Source::op(write) != source) {
            match source.as_op() {
                Some(last) => graph.add(write, last),
                None => return false,
            }
        }
    }
    for op in trace.ops().filter(|&op| trace.kind(op).reads()) {
        let early = trace.kind(op) == OpKind::Load && model.store_forwarding;
        let source = trace.source(op).as_op();
        let own_earlier = |write: OpId| trace.thread(write) == trace.thread(op) && trace.po(write) < trace.po(op);
        if let Some(write) = source.filter(|&write| !(early && own_earlier(write))) {
            graph.add(write, op);
        }
        let own = &trace.thread_ops(trace.thread(op))[..trace.po(op) as usize];
        let last = own.iter().rfind(|&&own| trace.kind(own).writes() && trace.addr(own) == trace.addr(op));
        // The stores before the last one are before it by local order.
        if let Some(&last) = last.filter(|&&last| early && Some(last) != source) {
            match source {
                Some(write) => graph.add(last, write),
                None => return false,
            }
        }
    }
    true
}

/// The pairs of a thread that the model, a barrier or its own clock keeps in order, except those that follow from others.
fn add_local_order(trace: &Trace, model: &Model, ops: &[OpId], graph: &mut Graph) {
    // Per operation, the set of those known to be before it.
    let words = ops.len().div_ceil(64);
    let mut known = vec![0u64; words * ops.len()];
    for (at, &later) in ops.iter().enumerate().filter(|&(_, &op)| trace.kind(op) != OpKind::Fence) {
        let mut fences: Vec<OpId> = Vec::new();
        let (done, rest) = known.split_at_mut(words * at);
        let mine = &mut rest[..words];
        for (before, &earlier) in ops[..at].iter().enumerate().rev() {
            if trace.kind(earlier) == OpKind::Fence {
                // Two barriers of one mask do nothing more than the nearer one.
                if !fences.iter().any(|&fence| trace.mask(fence) == trace.mask(earlier)) {
                    fences.push(earlier);
                }
                continue;
            }
            let clock = trace.compare() == Compare::Threads && timed(trace, model, earlier, later);
            if mine[before / 64] >> (before % 64) & 1 == 0
                && (clock
                    || keeps_by_table(trace, model, earlier, later)
                    || fences.iter().any(|&fence| barrier_keeps(trace, model, fence, earlier, later)))
            {
                graph.add(earlier, later);
                mine.iter_mut().zip(&done[words * before..]).for_each(|(mine, &more)| *mine |= more);
                mine[before / 64] |= 1 << (before % 64);
            }
        }
    }
}

/// t_e and t_rc of each operation: no begin is before all timestamps, and the greatest number after all of them.
struct Times {
    /// Is there any ↣ at all?
    any: bool,
    enter: Vec<Option<u64>>,
    commit: Vec<u64>,
    /// The least t_rc of what is reached from each operation by static edges, itself included.
    least: Vec<u64>,
}

const NEVER: u64 = u64::MAX;

impl Times {
    fn new(trace: &Trace, model: &Model, algorithm: Algorithm, graph: &Graph, sorted: &[OpId]) -> Times {
        let any = trace.compare() == Compare::Everything && trace.has_times() && algorithm != Algorithm::Baseline;
        let n = trace.len();
        let mut times = Times { any, enter: vec![None; n], commit: vec![NEVER; n], least: vec![NEVER; n] };
        for &op in sorted.iter().rev().filter(|&&op| any && trace.kind(op) != OpKind::Fence) {
            let period = trace.period(op);
            let later = graph.after[op.index()].iter().map(|v| times.least[v.index()]).min().unwrap_or(NEVER);
            let commit = if model.done_at_end(trace.kind(op)) { period.end.unwrap_or(NEVER) } else { later };
            times.enter[op.index()] = period.begin;
            times.commit[op.index()] = commit;
            times.least[op.index()] = commit.min(later);
        }
        times
    }

    /// u ↣ v
    fn before(&self, u: OpId, v: OpId) -> bool {
        ends_before(self.commit[u.index()], self.enter[v.index()])
    }

    /// Is there a cycle of static edges and one ↣?
    fn contradict(&self) -> bool {
        self.least.iter().zip(&self.enter).any(|(&least, &enter)| ends_before(least, enter))
    }
}

fn ends_before(commit: u64, enter: Option<u64>) -> bool {
    enter.is_some_and(|enter| commit < enter)
}

/// σ_i|A and σ_i|l: the writes of each thread to each address, and its operations on each lock, in program order.
fn places(trace: &Trace, model: &Model) -> Vec<Vec<OpId>> {
    let mut places = Vec::new();
    for thread in 0..trace.threads() as u32 {
        let mut mine = vec![Vec::new(); trace.addrs()];
        for &op in trace.thread_ops(ThreadId(thread)).iter().filter(|&&op| trace.kind(op).writes()) {
            mine[trace.addr(op).index()].push(op);
        }
        for (ops, name) in mine.into_iter().zip(trace.addr_names()) {
            if !ops.is_empty() && (model.lock_exclusion || !matches!(name, AddrName::Lock(_))) {
                places.push(ops);
            }
        }
    }
    places
}

/// A frontier on the stack.
struct Frame {
    /// Which place was moved on to get here, and the edges that this added.
    moved: Option<usize>,
    edges: Vec<(OpId, OpId)>,
    /// The places still to be moved on, the next one last.
    left: Vec<usize>,
}

struct Search<'a> {
    trace: &'a Trace,
    algorithm: Algorithm,
    limits: &'a Limits,
    times: Times,
    graph: Graph,
    places: Vec<Vec<OpId>>,
    /// The frontier: how many operations of each place have been visited.
    next: Vec<usize>,
    /// Per address and lock, the operations in the order in which they were visited.
    visited: Vec<Vec<OpId>>,
    readers: Vec<Vec<OpId>>,
    readers_of_initial: Vec<Vec<OpId>>,
    failed: FxHashSet<Vec<Vec<OpId>>>,
    /// Per operation the last search that came there, forward and back.
    marks: Vec<(u64, u64)>,
    mark: u64,
    frontiers: u64,
}

impl Search<'_> {
    /// Functions 2 and 4, with a stack.
    fn run(&mut self) -> Option<bool> {
        let mut stack = vec![self.frame(None, Vec::new())];
        loop {
            if self.next.iter().zip(&self.places).all(|(&next, place)| next == place.len()) {
                return Some(true);
            }
            let Some(frame) = stack.last_mut() else { return Some(false) };
            let Some(place) = frame.left.pop() else {
                let frame = stack.pop()?;
                self.go_back(frame);
                if stack.is_empty() {
                    return Some(false);
                }
                continue;
            };
            let late = |deadline: Instant| self.frontiers.is_multiple_of(64) && Instant::now() >= deadline;
            if self.limits.frontiers.is_some_and(|most| self.frontiers >= most)
                || self.limits.deadline.is_some_and(late)
            {
                return None;
            }
            if !self.active(place) {
                continue;
            }
            let op = self.places[place][self.next[place]];
            let Some(edges) = self.edges_to(op) else {
                frame.left.clear();
                continue;
            };
            self.frontiers += 1;
            self.visit(place, op);
            for &(from, to) in &edges {
                self.graph.add(from, to);
            }
            let closed = if self.times.any { self.find_timed_path(op) } else { self.find_path(op) };
            let frame = self.frame(Some(place), edges);
            if closed || self.limits.remember && self.failed.contains(&self.visited) {
                self.take_back(frame);
            } else {
                stack.push(frame);
            }
        }
    }

    fn frame(&self, moved: Option<usize>, edges: Vec<(OpId, OpId)>) -> Frame {
        let mut left: Vec<usize> = (0..self.places.len())
            .filter(|&place| self.places[place].get(self.next[place]).is_some_and(|&op| self.may_be_next(op)))
            .collect();
        left.sort_by_key(|&place| (self.times.enter[self.places[place][self.next[place]].index()], place));
        left.reverse();
        Frame { moved, edges, left }
    }

    /// An acquire waits until the session before it has been visited to its end.
    fn may_be_next(&self, op: OpId) -> bool {
        let last = self.visited[self.trace.addr(op).index()].last();
        self.trace.kind(op) != OpKind::Acquire || last.is_none_or(|&last| self.trace.kind(last) == OpKind::Release)
    }

    fn visit(&mut self, place: usize, op: OpId) {
        self.next[place] += 1;
        self.visited[self.trace.addr(op).index()].push(op);
    }

    /// Nothing that follows from here succeeds.
    fn go_back(&mut self, frame: Frame) {
        if self.limits.remember {
            self.failed.insert(self.visited.clone());
        }
        self.take_back(frame);
    }

    fn take_back(&mut self, frame: Frame) {
        for &(from, to) in frame.edges.iter().rev() {
            self.graph.remove(from, to);
        }
        if let Some(place) = frame.moved {
            self.next[place] -= 1;
            let op = self.places[place][self.next[place]];
            self.visited[self.trace.addr(op).index()].pop();
        }
    }

    /// Is the frontier with this place moved on active? The present one is, so only pairs with the new operation count.
    fn active(&self, place: usize) -> bool {
        if !self.times.any {
            return true;
        }
        let at = self.next[place];
        let (new, follows) = (self.places[place][at], self.places[place].get(at + 1));
        self.places.iter().zip(&self.next).enumerate().filter(|&(other, _)| other != place).all(|(_, (ops, &next))| {
            let (there, next_there) = (next.checked_sub(1).map(|last| ops[last]), ops.get(next));
            !next_there.is_some_and(|&next| self.times.before(next, new))
                && !there.zip(follows).is_some_and(|(there, &follows)| self.times.before(follows, there))
        })
    }

    /// The edges into the active operation; `None` if a read of the write before it began after it was performed.
    fn edges_to(&self, op: OpId) -> Option<Vec<(OpId, OpId)>> {
        let addr = self.trace.addr(op).index();
        let last = self.visited[addr].last();
        let mut edges: Vec<(OpId, OpId)> = Vec::new();
        match self.trace.kind(op) {
            OpKind::Acquire => edges.extend(last.map(|&release| (release, op))),
            OpKind::Store | OpKind::Rmw => {
                edges.extend(last.map(|&write| (write, op)));
                let readers = last.map_or(&self.readers_of_initial[addr], |write| &self.readers[write.index()]);
                for &read in readers.iter().filter(|&&read| read != op) {
                    if self.times.before(op, read) {
                        return None;
                    }
                    edges.push((read, op));
                }
            }
            OpKind::Load | OpKind::Fence | OpKind::Release => {}
        }
        Some(edges)
    }

    /// Function 3: is there a path from this operation to itself?
    fn find_path(&mut self, op: OpId) -> bool {
        self.mark += 1;
        let mut open = vec![op];
        while let Some(from) = open.pop() {
            for &to in &self.graph.after[from.index()] {
                if to == op {
                    return true;
                }
                if std::mem::replace(&mut self.marks[to.index()].0, self.mark) != self.mark {
                    open.push(to);
                }
            }
        }
        false
    }

    /// Function 5: is there a path from this operation to itself, with one ↣ at most?
    fn find_timed_path(&mut self, op: OpId) -> bool {
        self.mark += 1;
        let times = &self.times;
        // The least t_rc of what is reached from the operation, and the greatest t_e of what reaches it.
        let (mut least, mut greatest) = (times.commit[op.index()], times.enter[op.index()]);
        let mut open = vec![op];
        while let Some(from) = open.pop() {
            for &to in &self.graph.after[from.index()] {
                if to == op || times.before(to, op) {
                    return true;
                }
                least = least.min(times.commit[to.index()]);
                let new = std::mem::replace(&mut self.marks[to.index()].0, self.mark) != self.mark;
                if new && !times.before(op, to) {
                    open.push(to);
                }
            }
        }
        if self.algorithm == Algorithm::AsPrinted {
            return false;
        }
        open.push(op);
        while let Some(to) = open.pop() {
            for &from in &self.graph.before[to.index()] {
                if times.before(op, from) {
                    return true;
                }
                greatest = greatest.max(times.enter[from.index()]);
                let new = std::mem::replace(&mut self.marks[from.index()].1, self.mark) != self.mark;
                if new && !times.before(from, op) {
                    open.push(from);
                }
            }
        }
        ends_before(least, greatest)
    }
}
