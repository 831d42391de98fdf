//! The depth-first search that the systematic strategies share.
//!
//! # Problem
//!
//! Run a program under every schedule that a strategy asks for, once, on one core or several, with the same result, and so
//! that it can be interrupted and taken up again.
//!
//! # Algorithm
//!
//! The state of the search is a tree of *open nodes* (states of the program with threads still to be run from there) and a
//! stack of *items* (an open node and one of those threads). A worker ([`crate::work`]) is given an item, replays its path,
//! and searches the subtree depth first, going back by undoing steps, until it is done or has run [`BUDGET`] executions;
//! what is left of its stack then becomes open nodes and items. Items are taken [`ROUND`] at a time and their results are
//! merged in order, whatever the number of workers; so the number of workers does not change the result, and
//! between two rounds the whole search is a small value that can be saved. An item that a worker could not run is returned to the queue.
//!
//! * **exhaustive**: from every state every thread that can run.
//! * **bounded**: the same, but a switch away from a thread that could continue costs one of k preemptions. Executions that
//!   have been seen with a smaller k are not counted again.
//! * **dpor**: one execution of each happens-before class. From every state one thread at first; each race (see
//!   [`crate::races`]) adds a thread to the state before it, unless an initial is there already (source sets). Threads
//!   that have been run from a state are *asleep* in their siblings' subtrees until something conflicts with them (sleep
//!   sets), so no class is completed twice. A race may concern a state above the item's own subtree; then it is a request
//!   to the open node, made when results are merged. Adding later what the sequential algorithm would have added earlier
//!   changes neither argument: a sibling may count as run as soon as it is sure to be run.
//!
//! # Waiting loops
//!
//! An idle round ([`crate::Waiting`]) leaves its thread and memory as they were: an interlocked operation in it wrote what was
//! there. Left out of an execution, it changes nothing for anybody.
//!
//! Exhaustive and bounded search and random schedules run a round once: a thread is disabled at the read that would close the
//! same round again while all values of the round are unchanged.
//!
//! Dpor explores the program P' in which a thread stops for good after an idle round. That depends on the thread's own past
//! alone, so the reduction holds for P' as it stands. If an execution of P' ends and a value that a stopped thread read has
//! changed since, the execution is blocked and counts for nothing. Otherwise the thread would go round forever, which is
//! a deadlock unless it may wait. Nothing is lost:
//!
//! * An execution in which every thread ends is one of P' when its idle rounds are left out, with the same final state and
//!   the same errors. The same goes for its beginnings, up to an error.
//! * A thread that waits forever reads the same values forever. With all its idle rounds left out but one of these, it is
//!   stopped at the end of an execution of P' that is not blocked.
//! * An idle round can be left out of an execution of a memory model too: its loads are nobody's business, and a buffer that
//!   an interlocked operation waits for drains all the same. So if no execution of P' has a violation, every execution of the
//!   model, without its idle rounds, is sequentially consistent, and reaches nothing that the program does not reach anyway.
//!
//! Violations that need an idle round *and* something that its thread does afterwards are not reported: the execution without
//! the round is sequentially consistent, or has a violation that is reported. Those in which the round comes last are, but for
//! rounds in vain that others go on after (below).
//!
//! *Strict* search keeps idle rounds: after one, a thread is disabled at the read that would close the same round again while the
//! address of that read is unchanged, and no longer. Enabledness must depend on the one address that the access conflicts on; an
//! execution that ends although another value of the round has changed is the beginning of one in which that round comes later,
//! and is blocked. What is not run is a second round with the values of the one just before it.
//!
//! # Rounds in vain
//!
//! An idle round that has found two values at one address, such as that of a compare-exchange which fails because the address was
//! written since it was read, cannot go on forever: not all of its values can be there at the end. Every execution of P' with
//! such a round is blocked. So dpor explores V, which is P' without them: an access that would close such a round is disabled. The
//! executions of V that are not blocked are those of P'. One that ends with a thread before such an access is blocked.
//!
//! Whether an access is in vain depends on its thread's past and on the value of its own address alone, so it is like a blocking access
//! ([`crate::races`]), but for that it has to be tried: the access is made, seen by the observer, its races
//! are noted, and it is taken back. Then the thread cannot run until its address is written, and others go on. If it was to be run from
//! a state, another thread that is awake there takes its place; it counts as run, since it has been.
//!
//! * *Races.* Let w be the last write to the address that does not happen before the access e. The race of e with w is reversed as that of any read: by running,
//!   from the state before w, an initial of v·e. If e is in vain there as well, it is tried there, or wherever its thread comes to it before
//!   w, and its race with the write before w shows; and so on, to the write before which it is not in vain, which
//!   `turn_blocking` finds at once where it knows all values that disable an access. A race of e with a *later* write need not be
//!   reversed: e is tried again after each of them.
//! * *Violations.* One that ends with e has e read a value older than a write which happens before something that e's thread did
//!   earlier. So that write, and the whole cycle, lie in the past of the thread when it comes to e, and the observer sees
//!   them when e is tried there. Violations of later accesses of others that need the round are excluded as above: without the
//!   round, the execution is sequentially consistent or has a violation that is reported.
//!
//! How much this saves: of k writes after which a compare-exchange fails, k executions were blocked, for each way that others
//! continue; now it is one.
//!
//! # Threads that are alike
//!
//! Dpor runs them up to renaming: [`crate::symmetry`] has the rule and the proof.
//!
//! # Blocking accesses
//!
//! An access that is made only when it can be (to take a lock, to begin as a thread that somebody starts) is disabled by
//! the value of its own address, or of another one that it then reads too ([`crate::races`]), in all strategies alike, and nothing is left out: nothing needs to be argued. A thread that may wait forever ([`crate::Program::may_wait`]) differs
//! only in what the end of an execution is called.
//!
//! # Choices
//!
//! A thread that has come to a choice ([`crate::Program`]) makes it before any other thread makes a step, in all strategies; from
//! the state before it every outcome is run, each its own execution or class. So a choice belongs to the step before
//! it, and a step with its choices is like a step that can end in several ways. For dpor nothing changes: a choice
//! conflicts with nothing, so no race is reversed at it, and no thread is asleep at its own choice, since it has just made a step
//! (or nobody has). A race asks that a thread be run from a state above; whatever it chooses then is explored
//! below. A thread asleep is one whose step, with everything that can be chosen after it, is run elsewhere.
//!
//! # Parts
//!
//! A search can be split into parts that know nothing of each other: [`parts`] has the rule.
//!
//! # Invariants
//!
//! An open node has a user: an item, or an open node below it. Entries of an item's `asleep` were made items before it.
//!
//! # Complexity
//!
//! Between rounds O(d) a path of length d that was split; within a round see [`crate::worker`] and [`crate::races`].
//!
//! # Deviations from the paper
//!
//! Abdulla et al. add threads to a state as soon as a race is seen; here those above an item wait until its round ends.
//!
//! # References
//!
//! Abdulla, Aronis, Jonsson, Sagonas: Optimal dynamic partial order reduction, POPL 2014 (source sets). Godefroid:
//! Partial-order methods for the verification of concurrent systems, 1996 (sleep sets). Musuvathi, Qadeer: Iterative
//! context bounding for systematic testing of multithreaded programs, PLDI 2007.
//!
//! # Guarantees
//!
//! Without a limit hit, exhaustive search runs all schedules, bounded search all with at most k preemptions, and dpor one
//! of each class, each exactly once.

use crate::Step;
use crate::end::Counts;
use crate::node::Node;
use crate::races::Turn;
use crate::set::{Many, Set};
use crate::work::{Answer, Order, Work};
use crate::worker::{Mode, Outcome};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

mod parts;

/// Executions that an item may run before what is left of it is split.
const BUDGET: u64 = 2048;
/// Items taken at a time.
pub(crate) const ROUND: usize = 32;

/// An open node: a state with threads still to run, or with such states below it.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Open {
    node: Node,
    /// The open node above it and the step that leads here. The root is its own parent.
    parent: u32,
    by: Step,
    depth: u32,
    /// Open nodes and items below it.
    users: u32,
    /// In a part of a search: the node is shared with other parts. Its number in the search that was split.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shared: Option<u32>,
    /// Every thread that can run here was considered ([`parts`]).
    #[serde(default, skip_serializing_if = "is_false")]
    considered: bool,
}

/// A thread that a part of a search wants to be run from a node that it shares with others.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
struct Wanted {
    /// The node, as the search that was split numbers it.
    open: u32,
    initials: Many,
    /// Not for a race, but instead of this thread, which cannot be run there.
    #[serde(default, skip_serializing_if = "is_empty")]
    futile: Many,
}

fn is_empty(set: &Many) -> bool {
    *set == Many::NONE
}

fn is_false(is: &bool) -> bool {
    !is
}

/// A step to make from an open node.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Item {
    open: u32,
    step: Step,
    /// Threads whose subtrees at the same node come first.
    asleep: Many,
    /// The share of the whole search that this item is guessed to be.
    share: f64,
    /// How many executions it is guessed to have, if that was asked ([`parts`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight: Option<f64>,
}

/// The state of a search between rounds.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Frontier {
    open: Vec<Open>,
    free: Vec<u32>,
    items: Vec<Item>,
    begun: bool,
    /// The guessed share of the search that is done.
    pub share: f64,
    /// Of a part of a search.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    wanted: Vec<Wanted>,
}

/// Reads the state of a search. Files can be damaged: whatever the code relies on is made sure of here, and that steps are those of
/// the program where they are made ([`Answer::Foreign`]).
pub(crate) fn sound<'a, D: serde::Deserializer<'a>>(from: D) -> Result<Frontier, D::Error> {
    let frontier = <Frontier as serde::Deserialize>::deserialize(from)?;
    frontier.check().map_err(serde::de::Error::custom)?;
    Ok(frontier)
}

impl Frontier {
    /// Looks for what no search leaves behind.
    fn check(&self) -> Result<(), &'static str> {
        let mut users = vec![0; self.open.len()];
        let mut is_free = vec![false; self.open.len()];
        for &id in &self.free {
            match is_free.get_mut(id as usize) {
                Some(free) if !*free => *free = true,
                _ => return Err("no such node is free"),
            }
        }
        let is_open = |id: u32| is_free.get(id as usize) == Some(&false);
        for item in &self.items {
            if !is_open(item.open) {
                return Err("a subtree is below a node that is not open");
            }
            users[item.open as usize] += 1;
        }
        for open in self.open.iter().zip(&is_free).filter_map(|(open, free)| (!free).then_some(open)) {
            if !open.node.is_sound() || open.node.preemptions > open.depth {
                return Err("a node has more choices or preemptions than there are");
            }
            if open.depth > 0 {
                if !is_open(open.parent) || self.open[open.parent as usize].depth != open.depth - 1 {
                    return Err("a node is not below its parent");
                }
                users[open.parent as usize] += 1;
            }
        }
        let has_room = |(open, users): (&Open, &u32)| (*users..u32::MAX / 2).contains(&open.users);
        if !self.open.iter().zip(&users).all(has_room) {
            return Err("a node has fewer users than there are");
        }
        Ok(())
    }

    pub fn new() -> Frontier {
        Frontier { open: Vec::new(), free: Vec::new(), items: Vec::new(), begun: false, share: 0.0, wanted: Vec::new() }
    }

    /// Makes sure that a race is reversed, at this node.
    fn turn(&mut self, id: u32, turn: Turn) {
        let open = &mut self.open[id as usize];
        match open.shared {
            None => {
                open.node.add(turn.initials);
                self.add_items(id, 0.0);
            }
            Some(shared) => {
                let wanted = Wanted { open: shared, initials: turn.initials, futile: Many::NONE };
                let is_known = (turn.initials & (open.node.todo | open.node.asleep)).is_some();
                if !is_known && !self.wanted.contains(&wanted) {
                    self.wanted.push(wanted);
                }
            }
        }
    }

    /// A thread cannot be run from this node; these others can.
    fn replace(&mut self, id: u32, futile: Many, others: Many) {
        let open = &mut self.open[id as usize];
        match open.shared {
            None => {
                if open.node.replace(futile, others) {
                    self.add_items(id, 0.0);
                }
            }
            Some(shared) => self.wanted.push(Wanted { open: shared, initials: others, futile }),
        }
    }

    pub fn is_done(&self) -> bool {
        self.begun && self.items.is_empty()
    }

    /// How many subtrees are known to be left.
    pub fn branches(&self) -> usize {
        self.items.len()
    }

    /// The paths to some of them, the longest ones last: items are taken from there.
    pub fn paths(&self, most: usize) -> Vec<Vec<Step>> {
        let stride = self.items.len().div_ceil(most.max(1)).max(1);
        self.items.iter().rev().step_by(stride).map(|item| Task::new(self, item).path).collect()
    }

    fn add_open(&mut self, open: Open) -> u32 {
        if open.depth > 0 {
            self.open[open.parent as usize].users += 1;
        }
        match self.free.pop() {
            Some(id) => {
                self.open[id as usize] = open;
                id
            }
            None => {
                self.open.push(open);
                self.open.len() as u32 - 1
            }
        }
    }

    /// An item of the node is done; frees nodes that nothing is left of.
    fn release(&mut self, mut id: u32) {
        loop {
            let open = &mut self.open[id as usize];
            open.users -= 1;
            if open.users > 0 {
                return;
            }
            self.free.push(id);
            if open.depth == 0 {
                return;
            }
            id = open.parent;
        }
    }

    /// Makes items of everything that is to do at a node.
    fn add_items(&mut self, id: u32, share: f64) {
        let open = &mut self.open[id as usize];
        let first = self.items.len();
        loop {
            let left = open.node.left();
            if left.is_none() {
                break;
            }
            let asleep = open.node.asleep | open.node.done;
            let step = open.node.take(left.first());
            self.items.push(Item { open: id, step, asleep, share, weight: None });
            open.users += 1;
        }
        // The last one is taken first.
        self.items[first..].reverse();
    }
}

/// Runs a round of at most `most` items on all workers and merges what comes of it, in order. About `limit` executions are run at most.
/// `take` gets the counts and the observer's part of each item. False if the program does not have one of them.
pub(crate) fn round<W: Work + Send>(
    frontier: &mut Frontier,
    workers: &mut [W],
    mode: Mode,
    stop: &AtomicBool,
    (limit, most): (u64, usize),
    mut take: impl FnMut(&Counts, W::Part),
) -> bool {
    if !frontier.begun {
        let answer = workers[0].work(&Order::Begin { mode }, stop);
        begin(frontier, answer, &mut take);
        return true;
    }
    let items = frontier.items.split_off(frontier.items.len().saturating_sub(most));
    let budget = BUDGET.min(limit.div_ceil(items.len().max(1) as u64));
    // The first item is the shallowest and has most to do. With several workers the last ones should be short, so that none
    // is waited for.
    let order = |item: &Item| Order::Run { mode, task: Task::new(frontier, item), budget };
    let orders: Vec<Order> = items.iter().map(order).collect();
    let answers = in_parallel(workers, &orders, stop);
    let mut all_known = true;
    // In this order, so that the last item's remains end on top of the stack.
    for (item, answer) in items.iter().zip(answers) {
        match answer {
            Answer::Ran(outcome) => {
                let Outcome { counts, part, turns, instead, rest } = outcome;
                take(&counts, part);
                if let Some(others) = instead {
                    frontier.replace(item.open, Many::one(item.step.thread()), others);
                }
                merge(frontier, item, turns, rest);
            }
            // It has not been run, so it is still to be run.
            answer => {
                all_known &= !matches!(answer, Answer::Foreign);
                frontier.items.push(*item);
            }
        }
    }
    all_known
}

/// Gives the orders to all workers; the answers are in the order of the orders.
pub(crate) fn in_parallel<W: Work + Send>(
    workers: &mut [W],
    orders: &[Order],
    stop: &AtomicBool,
) -> Vec<Answer<W::Part>> {
    if workers.len() == 1 || orders.len() == 1 {
        return orders.iter().map(|order| workers[0].work(order, stop)).collect();
    }
    let next = &AtomicUsize::new(0);
    let mut results: Vec<(usize, Answer<W::Part>)> = std::thread::scope(|scope| {
        let work = |worker: &mut W| {
            let mut results = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(order) = orders.get(i) else { return results };
                results.push((i, worker.work(order, stop)));
            }
        };
        let handles: Vec<_> = workers.iter_mut().map(|worker| scope.spawn(move || work(worker))).collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("a worker does not panic")).collect()
    });
    results.sort_unstable_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The part of an item that a worker needs to know.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Task {
    /// The schedule that leads to the open node.
    pub(crate) path: Vec<Step>,
    /// The threads that are taken care of at the nodes on it, the open node included.
    pub(crate) known: Vec<Many>,
    /// The open node.
    pub(crate) node: Node,
    /// The step to make from there, and the threads that are asleep then.
    pub(crate) step: Step,
    pub(crate) asleep: Many,
}

impl Task {
    fn new(frontier: &Frontier, item: &Item) -> Task {
        let (mut path, mut known) = (Vec::new(), Vec::new());
        let mut open = &frontier.open[item.open as usize];
        loop {
            known.push(open.node.todo | open.node.asleep);
            if open.depth == 0 {
                break;
            }
            path.push(open.by);
            open = &frontier.open[open.parent as usize];
        }
        path.reverse();
        known.reverse();
        let node = frontier.open[item.open as usize].node;
        Task { path, known, node, step: item.step, asleep: item.asleep }
    }
}

fn begin<T>(frontier: &mut Frontier, answer: Answer<T>, take: &mut impl FnMut(&Counts, T)) {
    let Answer::Begun(begun) = answer else { return };
    frontier.begun = true;
    match begun {
        Ok(node) => {
            let root = frontier.add_open(Open {
                node,
                parent: 0,
                by: Step::of(0),
                depth: 0,
                users: 0,
                shared: None,
                considered: false,
            });
            frontier.add_items(root, 1.0 / f64::from(node.ways().0));
        }
        Err(outcome) => {
            take(&outcome.counts, outcome.part);
            frontier.share = 1.0;
        }
    }
}

fn merge(frontier: &mut Frontier, item: &Item, turns: Vec<Turn>, rest: Vec<(Step, Node)>) {
    for turn in turns {
        let mut id = item.open;
        while frontier.open[id as usize].depth > turn.depth {
            id = frontier.open[id as usize].parent;
        }
        frontier.turn(id, turn);
    }
    // Each way to continue from a node is guessed to lead to as much as each other one.
    let (mut below, mut left) = (item.share, 0.0);
    let mut parent = item.open;
    for (by, node) in rest {
        let depth = frontier.open[parent as usize].depth + 1;
        let (all, open) = node.ways();
        below /= f64::from(all.max(1));
        left += below * f64::from(open);
        parent = frontier.add_open(Open { node, parent, by, depth, users: 0, shared: None, considered: false });
        frontier.add_items(parent, below);
    }
    frontier.share += item.share - left;
    // The deepest node has something left to do, or there would be no rest: every node that was opened has a user.
    frontier.release(item.open);
}
