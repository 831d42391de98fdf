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
//! the round is sequentially consistent, or has a violation that is reported. Those in which the round comes last are.
//!
//! *Strict* search keeps idle rounds: after one, a thread is disabled at the read that would close the same round again while the
//! address of that read is unchanged, and no longer. Enabledness must depend on the one address that the access conflicts on; an
//! execution that ends although another value of the round has changed is the beginning of one in which that round comes later,
//! and is blocked. What is not run is a second round with the values of the one just before it.
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
//! A search can be split into parts that know nothing of each other, for other machines. Each gets some items and a copy of the open nodes
//! above them. A race that concerns such a node is not reversed there, since each part would do so: it is noted, and
//! when the part is taken back the node, which stayed where the search was split, gets the thread, unless another part has asked for one
//! that will do. That is what merging does at the end of a round, only later; the argument is the same.
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
use crate::worker::Mode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Executions that an item may run before what is left of it is split.
const BUDGET: u64 = 2048;
/// Items taken at a time.
const ROUND: usize = 32;

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
}

/// A thread that a part of a search wants to be run from a node that it shares with others.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
struct Wanted {
    /// The node, as the search that was split numbers it.
    open: u32,
    initials: Many,
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

impl Frontier {
    pub fn new() -> Frontier {
        Frontier { open: Vec::new(), free: Vec::new(), items: Vec::new(), begun: false, share: 0.0, wanted: Vec::new() }
    }

    /// Puts the shallowest items where they are taken next.
    pub fn shallow_first(&mut self) {
        let open = &self.open;
        self.items.sort_by_key(|item| std::cmp::Reverse(open[item.open as usize].depth));
    }

    /// Hands out all items, to at most this many parts. Nodes stay here: what parts want of them comes back by [`Frontier::rejoin`].
    pub fn split(&mut self, parts: usize) -> Vec<Frontier> {
        let mut items = std::mem::take(&mut self.items);
        let parts = parts.clamp(1, items.len().max(1));
        // Items of one depth, which are of a size more than others, go to different parts.
        items.sort_by_key(|item| self.open[item.open as usize].depth);
        let mut all: Vec<Frontier> = (0..parts).map(|_| Frontier { begun: true, ..Frontier::new() }).collect();
        let mut known = vec![std::collections::HashMap::new(); parts];
        for (number, item) in items.into_iter().enumerate() {
            let (turn, at) = (number / parts, number % parts);
            // There and back, so that no part is always the first.
            let at = if turn % 2 == 0 { at } else { parts - 1 - at };
            let open = self.copy(item.open, &mut all[at], &mut known[at]);
            all[at].open[open as usize].users += 1;
            all[at].items.push(Item { open, ..item });
        }
        all.retain(|part| !part.items.is_empty());
        all
    }

    /// The same node in a part, with those above it.
    fn copy(&self, id: u32, part: &mut Frontier, known: &mut std::collections::HashMap<u32, u32>) -> u32 {
        if let Some(&copied) = known.get(&id) {
            return copied;
        }
        let open = &self.open[id as usize];
        let parent = if open.depth > 0 { self.copy(open.parent, part, known) } else { 0 };
        // One user more than it has: it stays.
        let copied = part.add_open(Open { parent, users: 1, shared: Some(id), ..*open });
        known.insert(id, copied);
        copied
    }

    /// Takes back a part that is done: what it wants becomes items, or a wish to the search that this one is a part of.
    pub fn rejoin(&mut self, part: &Frontier) {
        for wanted in &part.wanted {
            if let Some(node) = self.open.get(wanted.open as usize) {
                let turn = Turn { depth: node.depth, initials: wanted.initials };
                self.turn(wanted.open, turn);
            }
        }
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
                let wanted = Wanted { open: shared, initials: turn.initials };
                let is_known = (turn.initials & (open.node.todo | open.node.asleep)).is_some();
                if !is_known && !self.wanted.contains(&wanted) {
                    self.wanted.push(wanted);
                }
            }
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
            self.items.push(Item { open: id, step, asleep, share });
            open.users += 1;
        }
        // The last one is taken first.
        self.items[first..].reverse();
    }
}

/// Runs a round of items on all workers and merges what comes of it, in order. About `limit` executions are run at most.
/// `take` gets the counts and the observer's part of each item.
pub(crate) fn round<W: Work + Send>(
    frontier: &mut Frontier,
    workers: &mut [W],
    mode: Mode,
    stop: &AtomicBool,
    limit: u64,
    mut take: impl FnMut(&Counts, W::Part),
) {
    if !frontier.begun {
        let answer = workers[0].work(&Order::Begin { mode }, stop);
        begin(frontier, answer, &mut take);
        return;
    }
    let items = frontier.items.split_off(frontier.items.len().saturating_sub(ROUND));
    let budget = BUDGET.min(limit.div_ceil(items.len().max(1) as u64));
    // The first item is the shallowest and has most to do. With several workers the last ones should be short, so that none
    // is waited for.
    let order = |item: &Item| Order::Run { mode, task: Task::new(frontier, item), budget };
    let orders: Vec<Order> = items.iter().map(order).collect();
    let answers = in_parallel(workers, &orders, stop);
    // In this order, so that the last item's remains end on top of the stack.
    for (item, answer) in items.iter().zip(answers) {
        match answer {
            Answer::Ran(outcome) => {
                take(&outcome.counts, outcome.part);
                merge(frontier, item, outcome.turns, outcome.rest);
            }
            // It has not been run, so it is still to be run.
            _ => frontier.items.push(*item),
        }
    }
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
            let root = frontier.add_open(Open { node, parent: 0, by: Step::of(0), depth: 0, users: 0, shared: None });
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
        parent = frontier.add_open(Open { node, parent, by, depth, users: 0, shared: None });
        frontier.add_items(parent, below);
    }
    frontier.share += item.share - left;
    // The deepest node has something left to do, or there would be no rest: every node that was opened has a user.
    frontier.release(item.open);
}
