//! A total order by running the trace: the TOO heuristic of section 4.5, and the complete search.
//!
//! Problem: given the graph of a read problem, find a total order of all operations that respects it and the Value axiom,
//! or show that there is none.
//!
//! Algorithm: execute operations one by one, as the paper's topological sort with rule A7 applied immediately.
//! 1. An operation is *ready* when all its predecessors in the graph have been executed. A ready load executes as soon as
//!    memory holds the value it returned (or, forwarded, before its own store). A ready read-modify-write executes
//!    when its source is in memory and all other readers of that source have executed. A ready store may execute when
//!    nobody who has still to execute reads the value it overwrites (A7).
//! 2. Loads and read-modify-writes execute as soon as they can, and so do stores whose value nobody has still to read: in
//!    any completion they could be moved to this point. Stores that somebody reads are *decisions*, and so are stores that
//!    are the first of a guess of a known conflict (see the invariants). A store all of whose readers are ready is taken
//!    first: it holds its address up for no time, so that it too could be moved here. Otherwise it is a guess, of a store
//!    that somebody waits for ([`decide`]).
//! 3. When nothing can execute, everything waits for something: there is a cycle of waiting. Most cycles are noticed before
//!    that, by walks along what waits ([`decide`]). A cycle's edges are edges of the
//!    graph, reads-from edges, and A7 edges, which rest on decisions: the executed store S before the waiting one S'.
//!    The cycle refutes the conjunction of those decisions (a lemma). If there is none, the trace is forbidden. If there
//!    is one, S' is before S from now on (a learned edge; figure 5 of the paper is found this way). If there are several,
//!    the last one is undone and reversed for as long as the others stand: conflict-directed backjumping. Such conflicts
//!    are kept, and no decision repeats one. They are stated in terms of what was decided or learned last (as in
//!    conflict-driven clause learning), so that what follows from one decision is not worked out again under another; and
//!    a cycle that passes several stores of one address is taken stage by stage, each of which gives a learned edge.
//! 4. Go on from the state just before the reversed decision.
//!
//! An access of several pieces is one point of memory order: it executes when each of its pieces may, all of them in a row. Each piece
//! waits for what the others wait for, so that a cycle of waiting may enter an access at one piece and leave it at another. An access
//! that stores is a decision if one of its pieces is.
//!
//! Invariants: `indegree[v]` counts the graph predecessors of v that have not executed; `pending[w]` the readers of w that have
//! not; `current[x]` is the last executed write of x, and no write executes while its readers are pending, so a ready load
//! whose source has executed always finds it current.
//!
//! Decisions are made in *quiescent* states only: every ready operation waits for an event that is still to come (a reader
//! that executes, a source that executes, a decision). So nothing is lost by keeping no list of what is ready: the event
//! finds who waits for it. Going back keeps this up only if it leads to a quiescent state again, that is to one in which a
//! decision was made. It always does: *whatever a conflict rests on was decided or learned after a decision; no store that
//! executed by itself is the first of a guess of a conflict.* Proof: let S be the first of a guess of some conflicts, and C the
//! oldest of them. If C was there when S executed, S is `named` and had to be decided. Otherwise S had executed when C was
//! found. The guesses of C are those of a cycle of waiting, or of older conflicts, which do not name S. A guess of the cycle
//! is about a learned or chosen edge from a store that had not executed, or about an unexecuted reader of S or of a chain
//! of read-modify-writes that begins at S; then S had unexecuted readers when it executed, and was a decision.
//! (The same holds for [`crate::location`], where S is an acquire and its release reads it.) Since `nogood` looks at every
//! decision, it also sees every execution that could repeat a conflict.
//!
//! Complexity: O(n + edges) without conflicts (O(1) a decision, with the bounds of [`decide`]); each conflict costs its analysis
//! (bounded visits) and the distance to the decision undone. Exponential in the worst case, as the problem is NP-complete.
//!
//! Guarantees: an order that is found satisfies the model; a refutation rests on recorded lemmas; without a limit one
//! of the two is reached, since no decision repeats a known conflict, so that every conflict is a new one, and there are
//! finitely many.
//!
//! Deviations from the paper: the paper restarts its sort after each pass of R6 and R7 and gives up at a fixed point; we
//! learn from the failed sort and continue, because the failure itself names the wrong guess.
//!
//! References: Manovit, Hangal, SPAA 2005, 4.1 and 4.5; Gibbons, Korach, "Testing shared memories", 1997 (frontiers);
//! Prosser, "Hybrid algorithms for the constraint satisfaction problem", 1993 (backjumping); Marques-Silva, Sakallah,
//! "GRASP", 1999 (learning).

mod decide;
mod edges;
mod learn;
mod steps;
mod waits;

use crate::limits::Limits;
use crate::problem::{NONE, Problem};
use decide::Next;
use edges::DynEdge;
use learn::Repeats;
use membar_core::Undecided;
use rustc_hash::FxHashMap;
use std::collections::{BinaryHeap, VecDeque};
use waits::Demand;

/// An edge of a cycle of waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub from: u32,
    pub to: u32,
    pub why: WaitWhy,
}

/// Why `to` waits for `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitWhy {
    /// Program order or a static extra.
    Graph,
    /// Reads from it.
    ReadsFrom,
    /// A derived or learned extra, by index.
    Extra(u32),
    /// A7: `from` reads a write that is before `to`.
    Overwrites,
    /// The conflict assumes so.
    Assumed,
    /// `from` returned a write that `to` has overwritten, by the conflict's premise; see [`crate::location`].
    Overwritten,
}

/// `first` before `second`: heads of chains of read-modify-writes on one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Guess {
    pub first: u32,
    pub second: u32,
}

impl Guess {
    pub fn flip(self) -> Guess {
        Guess { first: self.second, second: self.first }
    }
}

/// The guesses cannot all hold: they close this cycle.
///
/// Invariant: every guess that an edge of the cycle rests on is among `guesses`, or `implied` has it with an earlier conflict that refutes
/// its opposite, and the other guesses of that conflict are here too, in one way or the other.
#[derive(Clone, Debug)]
pub(crate) struct Conflict {
    pub guesses: Vec<Guess>,
    pub cycle: Vec<Wait>,
    pub implied: Vec<(Guess, u32)>,
    /// Where a read returned an overwritten value in a partial order.
    pub overwritten: Option<Box<Overwritten>>,
}

/// The write that overwrote, and the way to it from the one that was read (empty for an initial value). If the cycle is
/// empty, it is the final value that was overwritten.
#[derive(Clone, Debug)]
pub(crate) struct Overwritten {
    pub by: u32,
    pub premise: Vec<Wait>,
}

impl Conflict {
    /// The approximate memory needed to keep it.
    fn bytes(&self) -> usize {
        let [guesses, cycle, implied] =
            [size_of_val(&self.guesses[..]), size_of_val(&self.cycle[..]), size_of_val(&self.implied[..])];
        3 * guesses + cycle + implied + 256
    }
}

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// `order` holds everything.
    Order,
    /// The last conflict needs no guess.
    Refuted,
    /// More conflicts than this run may have.
    GaveUp,
    /// A limit.
    Limit(Undecided),
}

/// When a decision was made: two more than twice the length of the order at that time, one more for the execution of a
/// store, and the number of the choice.
type Time = (u32, u32);

/// Before all decisions.
const ALWAYS: Time = (0, 0);

/// A decision that is not an execution: the edge `guess.first → guess.second`.
struct Choice {
    guess: Guess,
    edge: u32,
    length: u32,
}

/// An entry of a store's list of conflicts.
struct Nogood {
    conflict: u32,
    next: u32,
}

/// Stores, and readers of one store, that a decision looks at.
const WINDOW: usize = 32;

/// All that a run knows; its buffers are used again for the next trace.
#[derive(Default)]
pub(crate) struct Scheduler {
    indegree: Vec<u32>,
    pub(crate) place: Vec<u32>,
    /// The nodes executed so far, in order.
    pub order: Vec<u32>,
    current: Vec<u32>,
    pub(crate) overwritten: Vec<u32>,
    pending: Vec<u32>,
    ready_head: Vec<u32>,
    ready_next: Vec<u32>,
    ready_prev: Vec<u32>,
    open: Vec<u32>,
    is_open: Vec<bool>,
    /// All ready reads whose source has not executed, and some other reads; where the next decision begins to look.
    waiting: Vec<u32>,
    is_waiting: Vec<bool>,
    next_waiting: usize,
    /// From the goal, whose own entry names no other, to what it waits for, and on; who is on it. See [`decide`].
    path: Vec<Wait>,
    on_path: Vec<bool>,
    /// Readers that hold up an address because of a guess; some that no longer do.
    held: Vec<u32>,
    /// Where among the open addresses the next decision begins to look.
    cursor: usize,
    todo: Vec<u32>,
    front: Vec<u32>,
    dyn_edges: Vec<DynEdge>,
    dyn_succ: Vec<u32>,
    dyn_pred: Vec<u32>,
    /// Edges that do not hold always, by the time of the decision that they rest on.
    conditional: BinaryHeap<(Time, u32)>,
    choices: Vec<Choice>,
    /// Where each choice is.
    choice_of: FxHashMap<Guess, u32>,
    /// Static predecessors, made at the first conflict.
    pub(crate) pred_start: Vec<u32>,
    pub(crate) pred: Vec<u32>,
    head: Vec<u32>,
    /// Readers of a write before this place of its list have executed.
    first_reader: Vec<u32>,
    stamp: Vec<u32>,
    epoch: u32,
    parent: Vec<Wait>,
    distance: Vec<u32>,
    waits: Vec<Wait>,
    queue: VecDeque<u32>,
    next_queue: VecDeque<u32>,
    /// For each store the conflicts of several guesses that have it as the first of one, linked.
    nogood_head: Vec<u32>,
    nogoods: Vec<Nogood>,
    /// Is it the first store of a guess of some conflict? (Short or empty: of none behind its end.)
    named: Vec<bool>,
    /// All conflicts so far; learned extras refer to them by index.
    pub conflicts: Vec<Conflict>,
    /// The longest order so far, in operations.
    pub longest: usize,
    /// Bytes that the conflicts take.
    learned_bytes: usize,
}

/// Not in a ready list.
const UNLISTED: u32 = u32::MAX - 1;

impl Scheduler {
    /// Prepares for a problem; forgets what was learned about the last one.
    pub fn start(&mut self, p: &Problem) {
        self.conflicts.clear();
        self.nogoods.clear();
        self.nogood_head.clear();
        self.named.clear();
        self.path.clear();
        self.on_path.clear();
        self.first_reader.clear();
        self.conditional.clear();
        self.choices.clear();
        self.choice_of.clear();
        self.pred_start.clear();
        self.longest = 0;
        self.learned_bytes = 0;
        self.dyn_edges.clear();
        self.dyn_succ.clear();
        self.dyn_succ.resize(p.nodes, NONE);
        self.dyn_pred.clear();
    }

    /// Runs from the beginning with all extras of the problem, for at most this many conflicts.
    pub fn run(&mut self, p: &mut Problem, conflicts: usize, limits: &Limits) -> Run {
        self.reset(p);
        self.settle(p);
        let mut left = conflicts;
        let mut until_look = 4096u32;
        loop {
            until_look -= 1;
            if until_look == 0 {
                until_look = 4096;
                if let Some(reason) = limits.passed() {
                    self.leave();
                    return Run::Limit(reason);
                }
            }
            let next = self.decide(p);
            if let Next::Store(store) = next {
                match self.nogood(p, store) {
                    None => {
                        self.execute_all(p, store);
                        self.settle(p);
                        if p.grouped() {
                            self.note_held(p, store);
                        }
                    }
                    Some(Repeats::Waits) => {}
                    Some(Repeats::Conflict(conflict)) => {
                        if !self.resolve_conflict(p, conflict) {
                            self.leave();
                            return Run::Refuted;
                        }
                    }
                }
                self.settle(p);
                continue;
            }
            self.longest = self.longest.max(self.order.len());
            let complete = self.order.len() == p.nodes - p.addrs;
            let wrong = if complete && p.partial { self.overwritten_read(p) } else { None };
            if complete && wrong.is_none() {
                return Run::Order;
            }
            if left == 0 {
                self.leave();
                return Run::GaveUp;
            }
            left -= 1;
            let memory = (!limits.fits(self.learned_bytes)).then_some(Undecided::Memory);
            if let Some(reason) = limits.passed().or(memory) {
                self.leave();
                return Run::Limit(reason);
            }
            let conflict = match (wrong, next) {
                (Some(wrong), _) => wrong,
                (None, Next::Cycle(cycle)) => self.find_conflict(p, cycle),
                (None, _) => {
                    let cycle = self.some_cycle(p);
                    self.find_conflict(p, cycle)
                }
            };
            if !self.resolve_conflict(p, conflict) {
                self.leave();
                return Run::Refuted;
            }
            self.settle(p);
        }
    }

    /// Drops what holds under decisions of this run only.
    fn leave(&mut self) {
        while let Some((_, edge)) = self.conditional.pop() {
            self.unlink_dyn(edge);
        }
        while let Some(choice) = self.choices.pop() {
            self.unlink_dyn(choice.edge);
        }
        self.choice_of.clear();
    }

    fn reset(&mut self, p: &Problem) {
        self.indegree.clear();
        self.indegree.extend_from_slice(&p.indegree);
        self.place.clear();
        self.place.resize(p.nodes, NONE);
        for x in 0..p.addrs {
            self.place[p.ops + x] = 0;
        }
        self.order.clear();
        self.current.clear();
        self.current.extend((0..p.addrs).map(|x| (p.ops + x) as u32));
        self.overwritten.clear();
        self.overwritten.resize(p.ops, NONE);
        self.pending.clear();
        self.pending.extend((0..p.ops + p.addrs).map(|v| p.reader_start[v + 1] - p.reader_start[v]));
        self.ready_head.clear();
        self.ready_head.resize(p.addrs, NONE);
        self.ready_next.clear();
        self.ready_next.resize(p.ops, NONE);
        self.ready_prev.clear();
        self.ready_prev.resize(p.ops, UNLISTED);
        self.open.clear();
        self.cursor = 0;
        self.leave_path(p);
        self.waiting.clear();
        self.held.clear();
        self.next_waiting = 0;
        self.is_waiting.clear();
        self.is_waiting.resize(p.ops, false);
        self.is_open.clear();
        self.is_open.resize(p.addrs, false);
        self.front.clear();
        self.front.extend_from_slice(&p.thread_start);
        if !self.first_reader.is_empty() {
            self.first_reader.copy_from_slice(&p.reader_start);
        }
        self.todo.clear();
        // Extras found since the last run.
        for extra in p.static_extras + self.dyn_edges.len()..p.extras.len() {
            self.link_dyn(&p.extras[extra], extra as u32);
        }
        for edge in &self.dyn_edges {
            if edge.from != NONE {
                self.indegree[edge.to as usize] += 1;
            }
        }
        self.todo.extend((0..p.nodes as u32).rev().filter(|&v| self.indegree[v as usize] == 0 && !p.is_init(v)));
    }
}
