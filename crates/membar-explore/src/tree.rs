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
//! stack of *items* (an open node and one of those threads). A worker takes an item, replays its path, and searches the
//! subtree depth first, going back by undoing steps, until it is done or has run [`BUDGET`] executions; what is left of
//! its stack then becomes open nodes and items. Items are taken [`ROUND`] at a time and their results are merged in
//! order, whatever the number of workers: that is why the number of workers does not change the result, and why between
//! two rounds the whole search is a small value that can be saved.
//!
//! * **exhaustive**: from every state every thread that can run.
//! * **bounded**: the same, but a switch away from a thread that could go on costs one of k preemptions. Executions with
//!   fewer have been seen with a smaller k and are not counted again.
//! * **dpor**: one execution of each happens-before class. From every state one thread at first; each race (see
//!   [`crate::races`]) adds a thread to the state before it, unless an initial is there already (source sets). Threads
//!   that have been run from a state are *asleep* in their siblings' subtrees until something conflicts with them (sleep
//!   sets), so no class is completed twice. A race may concern a state above the item's own subtree; then it is a request
//!   to the open node, made when results are merged. Adding later what the sequential algorithm would have added earlier
//!   changes neither argument: a sibling may count as run as soon as it is sure to be run.
//!
//! # Waiting loops
//!
//! After an idle round ([`crate::Waiting`]) a thread need not run until one of the values it read has changed. Exhaustive
//! and bounded search disable it at the beginning of a round while all of them are unchanged. For dpor enabledness must
//! depend on the one address that the next access conflicts on: there it is disabled at the read that would close the
//! same round once more, while that value is unchanged. If at the end only such threads are left and one of them has an
//! earlier value of its round changed, the execution is the beginning of a longer one in which that round comes later; it
//! is dropped. Rounds that are not run change nothing and lead back to the same registers: whatever comes after them comes
//! without them as well.
//!
//! # Guarantees
//!
//! Without a limit hit, exhaustive search runs all schedules, bounded search all with at most k preemptions, and dpor one
//! of each class, each exactly once.

use crate::races::{Races, Turn};
use crate::{Next, Observer, Program};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Executions that an item may run before what is left of it is split.
const BUDGET: u64 = 2048;
/// Items taken at a time.
const ROUND: usize = 32;
/// Lengths of a path at which to look whether it goes round in a circle.
const LONG: [usize; 3] = [1 << 10, 1 << 12, 1 << 14];

/// Which schedules to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    Exhaustive,
    Bounded(u32),
    Dpor,
}

/// How an execution ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Every thread has ended (or stopped at a fault).
    Complete,
    /// These threads wait for values that nobody will write.
    Deadlock {
        /// A bit a thread.
        waiting: u64,
    },
    /// The limit of steps was reached.
    Cut {
        /// The program came back to a state that it had been in, this many steps before.
        period: Option<u32>,
    },
}

/// What was run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Executions that ended (or were cut), each a different one.
    pub executions: u64,
    /// Accesses made.
    pub events: u64,
    /// Executions given up because everything that could follow has been seen. Only dpor has them.
    pub redundant: u64,
    /// Executions that reached the limit of steps.
    pub cut: u64,
    /// Whether a choice was left out because of the bound on preemptions.
    pub bounded: bool,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Counts) {
        self.executions += other.executions;
        self.events += other.events;
        self.redundant += other.redundant;
        self.cut += other.cut;
        self.bounded |= other.bounded;
    }
}

/// A state of the program on the current path.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Node {
    /// Threads that can run.
    enabled: u64,
    /// Threads to run.
    todo: u64,
    /// Those of them that have been, or are sure to be.
    done: u64,
    /// Threads that need not be run: what they would do has been explored elsewhere.
    asleep: u64,
    /// Preemptions so far.
    preemptions: u32,
}

/// An open node: a state with threads still to run, or with such states below it.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Open {
    node: Node,
    /// The open node above it and the thread that leads here. The root is its own parent.
    parent: u32,
    by: u8,
    depth: u32,
    /// Open nodes and items below it.
    users: u32,
}

/// A thread to run from an open node.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct Item {
    open: u32,
    thread: u8,
    /// Threads whose subtrees at the same node come first.
    asleep: u64,
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
}

impl Frontier {
    pub fn new() -> Frontier {
        Frontier { open: Vec::new(), free: Vec::new(), items: Vec::new(), begun: false, share: 0.0 }
    }

    pub fn is_done(&self) -> bool {
        self.begun && self.items.is_empty()
    }

    /// Whether threads exist and references lead upwards.
    pub fn fits(&self, threads: usize) -> bool {
        let nodes = self.open.len();
        let open_fits = |open: &Open| {
            let up = self.open.get(open.parent as usize);
            usize::from(open.by) < threads.max(1) && up.is_some_and(|up| open.depth == 0 || up.depth + 1 == open.depth)
        };
        let item_fits = |item: &Item| (item.open as usize) < nodes && usize::from(item.thread) < threads;
        let free_fits = |id: &u32| (*id as usize) < nodes;
        self.items.iter().all(item_fits)
            && self.free.iter().all(free_fits)
            && self.open.iter().enumerate().all(|(i, open)| self.free.contains(&(i as u32)) || open_fits(open))
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
            let left = open.node.todo & !open.node.done & !open.node.asleep;
            if left == 0 {
                break;
            }
            let thread = left.trailing_zeros() as u8;
            self.items.push(Item { open: id, thread, asleep: open.node.asleep | open.node.done, share });
            open.node.done |= 1 << thread;
            open.users += 1;
        }
        // The last one is taken first.
        self.items[first..].reverse();
    }

    fn path(&self, mut id: u32, path: &mut Vec<u8>) {
        path.clear();
        while self.open[id as usize].depth > 0 {
            path.push(self.open[id as usize].by);
            id = self.open[id as usize].parent;
        }
        path.reverse();
    }
}

/// What comes of an item.
struct Outcome<T> {
    counts: Counts,
    part: T,
    /// Races that concern the item's open node or one above it.
    turns: Vec<Turn>,
    /// If the item was not finished: its path below the open node, and the nodes on it.
    rest: Vec<(u8, Node)>,
}

/// Runs subtrees; one for each worker.
pub(crate) struct Worker<P, O> {
    program: P,
    observer: O,
    mode: Mode,
    max_steps: usize,
    threads: usize,
    /// Threads whose next access is known, and those that are in a waiting loop.
    ready: u64,
    waiting: u64,
    path: Vec<u8>,
    races: Races,
    /// What is taken care of at the nodes of the prefix.
    known: Vec<u64>,
    nodes: Vec<Node>,
    counts: Counts,
    turns: Vec<Turn>,
}

impl<P: Program, O: Observer> Worker<P, O> {
    pub fn new(program: P, observer: O, mode: Mode, max_steps: usize) -> Worker<P, O> {
        let threads = program.threads();
        let mut worker = Worker {
            observer,
            mode,
            max_steps,
            threads,
            ready: 0,
            waiting: 0,
            path: Vec::new(),
            races: Races::new(threads),
            known: Vec::new(),
            nodes: Vec::new(),
            counts: Counts::default(),
            turns: Vec::new(),
            program,
        };
        for thread in 0..threads {
            worker.look(thread);
        }
        worker
    }

    /// Notes what the thread does next.
    #[inline]
    fn look(&mut self, thread: usize) {
        let bit = 1u64 << thread;
        self.ready &= !bit;
        self.waiting &= !bit;
        if let Next::Access(_) = self.program.next(thread) {
            self.ready |= bit;
            if !self.program.waiting(thread).round.is_empty() {
                self.waiting |= bit;
            }
        }
    }

    /// If the thread's next access would close its idle round again: the value that it would read.
    #[inline]
    fn awaited(&self, thread: usize) -> Option<u64> {
        if self.waiting >> thread & 1 == 0 {
            return None;
        }
        let waiting = self.program.waiting(thread);
        (waiting.repeated + 1 == waiting.round.len()).then(|| waiting.round[waiting.repeated].1)
    }

    fn is_blocked(&self, thread: usize) -> bool {
        let waiting = self.program.waiting(thread);
        match self.mode {
            Mode::Dpor => {
                let &(addr, value) = &waiting.round[waiting.repeated];
                waiting.repeated + 1 == waiting.round.len() && self.program.value(addr) == value
            }
            _ => waiting.repeated == 0 && unchanged(&self.program, waiting.round),
        }
    }

    #[inline]
    fn enabled(&self) -> u64 {
        let mut enabled = self.ready;
        let mut waiting = self.waiting;
        while waiting != 0 {
            let thread = waiting.trailing_zeros() as usize;
            waiting &= waiting - 1;
            if self.is_blocked(thread) {
                enabled &= !(1 << thread);
            }
        }
        enabled
    }

    /// Makes a step. `fresh` if it is not the replay of a path that has been run before.
    #[inline]
    fn forward(&mut self, thread: usize, fresh: bool) -> membar_core::Performed {
        let awaited = if self.mode == Mode::Dpor { self.awaited(thread) } else { None };
        let performed = self.program.step(thread);
        self.look(thread);
        if self.mode == Mode::Dpor {
            if fresh {
                let (known, nodes, turns) = (&self.known, &mut self.nodes, &mut self.turns);
                let above = known.len() as u32;
                // `nodes` is borrowed by one closure at a time.
                let cell = std::cell::RefCell::new(nodes);
                self.races.push(
                    &performed,
                    awaited,
                    |depth| match depth.checked_sub(above) {
                        None => known[depth as usize],
                        Some(i) => {
                            let node = cell.borrow()[i as usize];
                            node.todo | node.asleep
                        }
                    },
                    |turn| match turn.depth.checked_sub(above) {
                        None => turns.push(turn),
                        Some(i) => cell.borrow_mut()[i as usize].add(turn.initials),
                    },
                );
            } else {
                self.races.push(&performed, awaited, |_| u64::MAX, |_| {});
            }
        }
        self.path.push(thread as u8);
        self.observer.push(&performed, fresh);
        if fresh {
            self.counts.events += 1;
        }
        performed
    }

    #[inline]
    fn back(&mut self) {
        let thread = self.path.pop().expect("a step to take back") as usize;
        self.program.undo();
        self.observer.pop();
        if self.mode == Mode::Dpor {
            self.races.pop();
        }
        self.look(thread);
    }

    /// The state at the end of the path as a node.
    #[inline]
    fn node(&self, enabled: u64, asleep: u64, preemptions: u32) -> (Node, bool) {
        let mut node = Node { enabled, todo: enabled, done: 0, asleep: 0, preemptions };
        let last = self.path.last().copied();
        match self.mode {
            Mode::Exhaustive => {}
            Mode::Bounded(bound) => {
                if let Some(last) = last
                    && enabled >> last & 1 != 0
                    && preemptions == bound
                {
                    node.todo = 1 << last;
                    return (node, enabled != node.todo);
                }
            }
            Mode::Dpor => {
                node.asleep = asleep;
                let awake = enabled & !asleep;
                // Go on with the same thread if it is not waiting: schedules with few switches are easier to read.
                let busy = if awake & !self.waiting != 0 { awake & !self.waiting } else { awake };
                node.todo = match last {
                    Some(last) if busy >> last & 1 != 0 => 1 << last,
                    _ => busy & busy.wrapping_neg(),
                };
            }
        }
        (node, false)
    }

    /// Which of the threads in `asleep` stay so after this step.
    #[inline]
    fn still_asleep(&self, mut asleep: u64, performed: &membar_core::Performed) -> u64 {
        let mut left = asleep;
        while left != 0 {
            let thread = left.trailing_zeros() as usize;
            left &= left - 1;
            if let Next::Access(access) = self.program.next(thread)
                && access.addr == performed.access.addr
                && (performed.writes || access.writes_on(performed.old))
            {
                asleep &= !(1 << thread);
            }
        }
        asleep
    }

    /// Goes to the state at the end of `path` from wherever the last item ended.
    fn go_to(&mut self, path: &[u8]) {
        let common = self.path.iter().zip(path).take_while(|(a, b)| a == b).count();
        while self.path.len() > common {
            self.back();
        }
        for &thread in &path[common..] {
            self.forward(thread as usize, false);
        }
    }

    /// Runs an item.
    fn run(&mut self, item: &Item, task: &Task, budget: u64, stop: &AtomicBool) -> Outcome<O::Part> {
        self.known.clone_from(&task.known);
        self.nodes.clear();
        self.counts = Counts::default();
        self.go_to(&task.path);
        let base = task.path.len();
        self.take(item.thread as usize, &task.node, item.asleep);
        let mut stopped = false;
        while let Some(node) = self.nodes.last_mut() {
            let left = node.todo & !node.done & !node.asleep;
            if left == 0 {
                self.nodes.pop();
                self.back();
                continue;
            }
            if stopped {
                break;
            }
            let thread = left.trailing_zeros() as usize;
            let here = *node;
            node.done |= 1 << thread;
            self.take(thread, &here, here.asleep | here.done);
            let runs = self.counts.executions + self.counts.redundant;
            stopped = runs >= budget || ((runs & 15 == 0 || self.path.len() > 1000) && stop.load(Ordering::Relaxed));
        }
        let rest = self.path[base..].iter().copied().zip(self.nodes.iter().copied()).collect();
        // Take back what is left, so that the observer's counts are whole.
        while self.path.len() > base {
            self.back();
        }
        Outcome { counts: self.counts, part: self.observer.take(), turns: std::mem::take(&mut self.turns), rest }
    }

    /// Runs the thread from this node and looks at the state that it leads to.
    #[inline]
    fn take(&mut self, thread: usize, from: &Node, asleep: u64) {
        let last = self.path.last().copied();
        let preempted = last.is_some_and(|last| last != thread as u8 && from.enabled >> last & 1 != 0);
        let preemptions = from.preemptions + u32::from(preempted);
        let performed = self.forward(thread, true);
        let asleep = if asleep == 0 { 0 } else { self.still_asleep(asleep & !(1 << thread), &performed) };
        let enabled = self.enabled();
        if enabled == 0 {
            self.end(preemptions);
        } else if self.path.len() >= self.max_steps || LONG.contains(&self.path.len()) {
            match self.period() {
                None if self.path.len() < self.max_steps => return self.open(enabled, asleep, preemptions),
                period => self.cut(period, preemptions),
            }
        } else {
            return self.open(enabled, asleep, preemptions);
        }
        self.nodes.push(Node { enabled: 0, todo: 0, done: 0, asleep: 0, preemptions });
    }

    /// Goes on from the state at the end of the path.
    #[inline]
    fn open(&mut self, enabled: u64, asleep: u64, preemptions: u32) {
        let (node, cut_by_bound) = self.node(enabled, asleep, preemptions);
        self.counts.bounded |= cut_by_bound;
        if node.todo == 0 {
            self.counts.redundant += 1;
            self.blocked_races(self.ready & !enabled);
        }
        self.nodes.push(node);
    }

    /// Whether an execution with this many preemptions has not been counted with a smaller bound.
    fn is_new(&self, preemptions: u32) -> bool {
        match self.mode {
            Mode::Bounded(bound) => preemptions == bound,
            _ => true,
        }
    }

    /// Looks for races of the waiting reads that are disabled where an execution ends or is given up.
    fn blocked_races(&mut self, blocked: u64) {
        for thread in (0..self.threads).filter(|t| blocked >> t & 1 != 0) {
            let waiting = self.program.waiting(thread);
            let (addr, value) = waiting.round[waiting.repeated];
            // A waiting read-modify-write, once it succeeds, may write.
            let writes = matches!(self.program.next(thread), Next::Access(a) if a.kind.may_write());
            let above = self.known.len() as u32;
            let (known, turns) = (&self.known, &mut self.turns);
            let nodes = std::cell::RefCell::new(&mut self.nodes);
            self.races.at_end(
                thread,
                addr,
                writes,
                value,
                |depth| match depth.checked_sub(above) {
                    None => known[depth as usize],
                    Some(i) => {
                        let node = nodes.borrow()[i as usize];
                        node.todo | node.asleep
                    }
                },
                |turn| match turn.depth.checked_sub(above) {
                    None => turns.push(turn),
                    Some(i) => nodes.borrow_mut()[i as usize].add(turn.initials),
                },
            );
        }
    }

    /// No thread can run.
    fn end(&mut self, preemptions: u32) {
        let blocked = self.ready;
        let mut dropped = false;
        if blocked != 0 {
            let program = &self.program;
            let mut threads = (0..self.threads).filter(|t| blocked >> t & 1 != 0);
            dropped = threads.any(|thread| !unchanged(program, program.waiting(thread).round));
            if self.mode == Mode::Dpor {
                self.blocked_races(blocked);
            }
        }
        if dropped {
            self.counts.redundant += 1;
            return;
        }
        for thread in (0..self.threads).filter(|t| blocked >> t & 1 != 0) {
            if let Next::Access(access) = self.program.next(thread) {
                self.observer.tried(thread, access);
            }
        }
        let end = if blocked == 0 { End::Complete } else { End::Deadlock { waiting: blocked } };
        if self.is_new(preemptions) {
            self.counts.executions += 1;
            self.observer.end(end, &self.path);
        }
        for thread in 0..self.threads {
            if self.program.next(thread) == Next::Fault {
                let fault = self.program.fault(thread);
                self.observer.fault(thread, fault, &self.path);
            }
        }
    }

    /// The path is as long as it may get, or goes round in a circle.
    #[cold]
    fn cut(&mut self, period: Option<u32>, preemptions: u32) {
        self.counts.cut += 1;
        if self.is_new(preemptions) {
            self.counts.executions += 1;
            self.observer.end(End::Cut { period }, &self.path);
        }
    }

    /// How many steps ago the program was in the state it is in now, if every thread that can run has run since.
    #[cold]
    fn period(&mut self) -> Option<u32> {
        let (mut now, mut before) = (Vec::new(), Vec::new());
        self.program.state(&mut now);
        let enabled = self.enabled();
        let (mut ran, mut found) = (0u64, None);
        let mut steps = 0;
        while steps < self.path.len() {
            self.program.undo();
            steps += 1;
            ran |= 1 << self.path[self.path.len() - steps];
            before.clear();
            self.program.state(&mut before);
            if before == now && enabled & !ran == 0 {
                found = Some(steps as u32);
                break;
            }
        }
        for &thread in &self.path[self.path.len() - steps..] {
            self.program.step(thread as usize);
        }
        found
    }
}

impl Node {
    /// Makes sure that one of these threads is run from here.
    fn add(&mut self, initials: u64) {
        if initials & (self.todo | self.asleep) == 0 {
            let able = initials & self.enabled;
            // An initial that cannot run here would be a waiting read; then anything that can run will do.
            self.todo |= if able != 0 { able & able.wrapping_neg() } else { self.enabled };
        }
    }
}

pub(crate) fn unchanged(program: &impl Program, round: &[(u32, u64)]) -> bool {
    round.iter().all(|&(addr, value)| program.value(addr) == value)
}

/// Runs a round of items on all workers and merges what comes of it, in order. About `limit` executions are run at most.
/// `take` gets the counts and the observer's part of each item.
pub(crate) fn round<P: Program + Send, O: Observer + Send>(
    frontier: &mut Frontier,
    workers: &mut [Worker<P, O>],
    stop: &AtomicBool,
    limit: u64,
    mut take: impl FnMut(&Counts, O::Part),
) {
    if !frontier.begun {
        frontier.begun = true;
        begin(frontier, &mut workers[0], &mut take);
        return;
    }
    let items = frontier.items.split_off(frontier.items.len().saturating_sub(ROUND));
    let budget = BUDGET.min(limit.div_ceil(items.len().max(1) as u64));
    // The last item is the deepest: it goes first.
    let tasks: Vec<_> = items.iter().rev().map(|item| (*item, Task::new(frontier, item))).collect();
    let outcomes = in_parallel(workers, &tasks, |worker, (item, task)| task.run(item, worker, budget, stop));
    // Added in reverse, so that the first item's remains end on top of the stack.
    for ((item, _), outcome) in tasks.iter().zip(outcomes).rev() {
        take(&outcome.counts, outcome.part);
        merge(frontier, item, outcome.turns, outcome.rest);
    }
}

/// Does all tasks on all workers; the results are in the order of the tasks.
pub(crate) fn in_parallel<W: Send, T: Sync, R: Send>(
    workers: &mut [W],
    tasks: &[T],
    run: impl Fn(&mut W, &T) -> R + Sync,
) -> Vec<R> {
    if workers.len() == 1 || tasks.len() == 1 {
        return tasks.iter().map(|task| run(&mut workers[0], task)).collect();
    }
    let (next, run) = (&AtomicUsize::new(0), &run);
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        let work = |worker: &mut W| {
            let mut results = Vec::new();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(task) = tasks.get(i) else { return results };
                results.push((i, run(worker, task)));
            }
        };
        let handles: Vec<_> = workers.iter_mut().map(|worker| scope.spawn(move || work(worker))).collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("a worker does not panic")).collect()
    });
    results.sort_unstable_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}

/// What a worker needs to know about an item.
struct Task {
    path: Vec<u8>,
    known: Vec<u64>,
    node: Node,
}

impl Task {
    fn new(frontier: &Frontier, item: &Item) -> Task {
        let mut path = Vec::new();
        frontier.path(item.open, &mut path);
        let mut known = Vec::new();
        let mut id = item.open;
        loop {
            let open = &frontier.open[id as usize];
            known.push(open.node.todo | open.node.asleep);
            if open.depth == 0 {
                break;
            }
            id = open.parent;
        }
        known.reverse();
        Task { path, known, node: frontier.open[item.open as usize].node }
    }

    fn run<P: Program, O: Observer>(
        &self,
        item: &Item,
        worker: &mut Worker<P, O>,
        budget: u64,
        stop: &AtomicBool,
    ) -> Outcome<O::Part> {
        worker.run(item, self, budget, stop)
    }
}

fn begin<P: Program, O: Observer>(
    frontier: &mut Frontier,
    worker: &mut Worker<P, O>,
    take: &mut impl FnMut(&Counts, O::Part),
) {
    let enabled = worker.enabled();
    if enabled == 0 {
        worker.counts = Counts::default();
        worker.end(0);
        take(&worker.counts, worker.observer.take());
        frontier.share = 1.0;
        return;
    }
    let (node, _) = worker.node(enabled, 0, 0);
    let root = frontier.add_open(Open { node, parent: 0, by: 0, depth: 0, users: 0 });
    frontier.add_items(root, 1.0 / f64::from(node.todo.count_ones()));
}

fn merge(frontier: &mut Frontier, item: &Item, turns: Vec<Turn>, rest: Vec<(u8, Node)>) {
    for turn in turns {
        let mut id = item.open;
        while frontier.open[id as usize].depth > turn.depth {
            id = frontier.open[id as usize].parent;
        }
        frontier.open[id as usize].node.add(turn.initials);
        frontier.add_items(id, 0.0);
    }
    let left: u32 = rest.iter().map(|(_, node)| (node.todo & !node.done & !node.asleep).count_ones()).sum();
    let share = item.share / f64::from(left + 1);
    frontier.share += share;
    let mut parent = item.open;
    for (by, node) in rest {
        let depth = frontier.open[parent as usize].depth + 1;
        parent = frontier.add_open(Open { node, parent, by, depth, users: 0 });
        frontier.add_items(parent, share);
    }
    // The deepest node has something left to do, or there would be no rest: every node that was opened has a user.
    frontier.release(item.open);
}
