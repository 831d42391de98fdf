//! A worker: runs the subtree of one item, depth first.
//!
//! # Problem
//!
//! Given a state and a thread to run from there, run every schedule below that the strategy asks for. [`crate::tree`] has
//! the whole, and why it is right.
//!
//! # Algorithm
//!
//! 1. Go to the state: undo steps of the last item that are not on the way, make those that are missing.
//! 2. Make a step, and more of the same thread as long as it would be gone on with anyway ([`Program::steps`]). If nobody can run then, the execution has ended. Otherwise the new state becomes a node with the threads
//!    to run from it: all that can (exhaustive), all that the bound allows (bounded), or one (dpor, where races add more); the
//!    one that ran last comes first.
//! 3. Take the next thread of the deepest node, or, if it has none left, undo the step that led to it.
//!
//! # Invariants
//!
//! `path`, the program, the observer and the races are at the same state. `nodes[i]` is the state after
//! `known.len() + i` steps. A thread is in `ready` if it has an access to make and steps left, in `long` if it has an
//! access but no steps left, and in `waiting` only if it is in `ready`.
//!
//! # Complexity
//!
//! An execution costs the steps that it does not share with the one before; a step O(P) and what the races cost.

use crate::races::{Races, Turn, Turns};
use crate::tree::Task;
use crate::{Awaited, Next, Observer, Program, Standing, Watched};
use membar_core::Performed;
use std::sync::atomic::{AtomicBool, Ordering};

/// Lengths of a path at which to look whether it goes round in a circle.
const LONG: [usize; 3] = [1 << 10, 1 << 12, 1 << 14];

/// Which schedules to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Mode {
    Exhaustive,
    /// At most `bound` preemptions; executions with at most `seen` have been counted before.
    Bounded {
        bound: u32,
        seen: Option<u32>,
    },
    Dpor,
}

/// How an execution ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Every thread has ended (or stopped at a fault, or may wait for ever).
    Complete,
    /// These threads wait for values that nobody will write, and should not ([`crate::Program::may_wait`]).
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

impl End {
    /// Nobody can run, and these threads wait.
    pub(crate) fn waiting(program: &impl Program, blocked: u64) -> End {
        let must = |thread: &usize| blocked >> thread & 1 != 0 && !program.may_wait(*thread);
        match (0..program.threads()).filter(must).fold(0, |mask, thread| mask | 1 << thread) {
            0 => End::Complete,
            waiting => End::Deadlock { waiting },
        }
    }
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
pub struct Node {
    /// Threads that can run.
    pub(crate) enabled: u64,
    /// Threads to run.
    pub(crate) todo: u64,
    /// Those of them that have been, or are sure to be.
    pub(crate) done: u64,
    /// Threads that need not be run: what they would do has been explored elsewhere.
    pub(crate) asleep: u64,
    /// Preemptions so far.
    pub(crate) preemptions: u32,
}

/// The path to the current state, as those see it who look for races.
struct Path<'a> {
    /// What is taken care of at the nodes above the item, and at its own.
    known: &'a [u64],
    /// The nodes below.
    nodes: &'a mut [Node],
    /// Races that concern the nodes above.
    above: &'a mut Vec<Turn>,
}

impl Turns for Path<'_> {
    #[inline]
    fn known(&self, depth: u32) -> u64 {
        let depth = depth as usize;
        match self.known.get(depth) {
            Some(&known) => known,
            None => {
                let node = &self.nodes[depth - self.known.len()];
                node.todo | node.asleep
            }
        }
    }

    fn turn(&mut self, turn: Turn) {
        match (turn.depth as usize).checked_sub(self.known.len()) {
            Some(i) => self.nodes[i].add(turn.initials),
            None => self.above.push(turn),
        }
    }
}

/// For steps whose races have been seen to.
struct Settled;

impl Turns for Settled {
    fn known(&self, _: u32) -> u64 {
        u64::MAX
    }

    fn turn(&mut self, _: Turn) {}
}

/// What comes of an item.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Outcome<T> {
    pub(crate) counts: Counts,
    pub(crate) part: T,
    /// Races that concern the item's open node or one above it.
    pub(crate) turns: Vec<Turn>,
    /// If the item was not finished: its path below the open node, and the nodes on it.
    pub(crate) rest: Vec<(u8, Node)>,
}

/// Runs subtrees; one for each worker.
pub(crate) struct Worker<P, O> {
    program: P,
    observer: O,
    mode: Mode,
    max_steps: usize,
    threads: usize,
    /// Threads whose next access is known, of these those that are in a waiting loop, and threads that are not run any
    /// further because they have made as many steps as they may.
    ready: u64,
    waiting: u64,
    long: u64,
    /// Steps that each thread has made.
    made: Vec<usize>,
    path: Vec<u8>,
    races: Races,
    /// What is taken care of at the nodes of the prefix.
    known: Vec<u64>,
    nodes: Vec<Node>,
    counts: Counts,
    turns: Vec<Turn>,
    /// Scratch: what a thread did in one go.
    run: Vec<Performed>,
}

/// The most steps that a thread makes in one go, after the first.
const LONGEST: usize = 63;

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
            long: 0,
            made: vec![0; threads],
            path: Vec::new(),
            races: Races::new(threads),
            known: Vec::new(),
            nodes: Vec::new(),
            counts: Counts::default(),
            turns: Vec::new(),
            run: Vec::new(),
            program,
        };
        for thread in 0..threads {
            worker.look(thread);
        }
        worker
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn program(&self) -> &P {
        &self.program
    }

    /// The program, at its beginning again, and the observer.
    pub fn into_parts(mut self) -> (P, O) {
        self.go_to(&[]);
        (self.program, self.observer)
    }

    /// The state at the beginning, or what comes of a program in which nobody can run.
    pub fn begin(&mut self) -> Result<Node, Outcome<O::Part>> {
        self.go_to(&[]);
        let enabled = self.enabled();
        if enabled != 0 {
            return Ok(self.node(enabled, 0, 0).0);
        }
        self.counts = Counts::default();
        self.end(0);
        Err(self.outcome(Vec::new()))
    }

    fn outcome(&mut self, rest: Vec<(u8, Node)>) -> Outcome<O::Part> {
        let (part, turns) = (self.observer.take(&self.path), std::mem::take(&mut self.turns));
        Outcome { counts: self.counts, part, turns, rest }
    }

    /// Notes what the thread does next.
    #[inline]
    fn look(&mut self, thread: usize) {
        self.stands(thread, self.program.standing(thread));
    }

    /// Notes how the thread stands.
    #[inline]
    fn stands(&mut self, thread: usize, standing: Standing) {
        let bit = 1u64 << thread;
        self.ready &= !bit;
        self.waiting &= !bit;
        self.long &= !bit;
        match standing {
            Standing::Stopped => {}
            Standing::Runs if self.made[thread] < self.max_steps => self.ready |= bit,
            Standing::Waits if self.made[thread] < self.max_steps => {
                self.ready |= bit;
                self.waiting |= bit;
            }
            _ => self.long |= bit,
        }
    }

    /// If the thread's next access would close its idle round again, or is a blocking one: what it waits for.
    #[inline]
    fn awaited(&self, thread: usize) -> Option<Awaited> {
        if self.waiting >> thread & 1 == 0 {
            return None;
        }
        let waiting = self.program.waiting(thread);
        waiting.is_closing().then(|| waiting.round[waiting.repeated])
    }

    /// Whether a waiting thread is disabled: see [`crate::tree`].
    fn is_blocked(&self, thread: usize) -> bool {
        let waiting = self.program.waiting(thread);
        match self.mode {
            Mode::Dpor => waiting.is_closing() && unchanged(&self.program, &waiting.round[waiting.repeated..]),
            _ => waiting.is_closing() && unchanged(&self.program, waiting.round),
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

    /// Makes a step of a path that has been run before.
    fn forward(&mut self, thread: usize) {
        let awaited = self.awaited(thread);
        let performed = self.program.step(thread);
        if self.mode == Mode::Dpor {
            self.races.push(&performed, awaited, &mut Settled);
        }
        self.made(thread, &performed);
        self.look(thread);
    }

    /// Notes a step that has been made.
    #[inline]
    fn made(&mut self, thread: usize, performed: &Performed) {
        self.made[thread] += 1;
        self.path.push(thread as u8);
        self.observer.push(performed, &self.path);
    }

    #[inline]
    fn back(&mut self) {
        self.observer.pop(&self.path);
        let thread = self.path.pop().expect("a step to take back") as usize;
        self.program.undo();
        self.made[thread] -= 1;
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
            Mode::Bounded { bound, .. } => {
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
    fn still_asleep(&self, mut asleep: u64, performed: &Performed) -> u64 {
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
            self.forward(thread as usize);
        }
    }

    /// Runs an item.
    pub fn run(&mut self, task: &Task, budget: u64, stop: &AtomicBool) -> Outcome<O::Part> {
        self.known.clone_from(&task.known);
        self.nodes.clear();
        self.counts = Counts::default();
        self.go_to(&task.path);
        let base = task.path.len();
        self.take(task.thread as usize, &task.node, task.asleep);
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
            let thread = match self.path.last() {
                Some(&last) if left >> last & 1 != 0 => usize::from(last),
                _ => left.trailing_zeros() as usize,
            };
            let here = *node;
            node.done |= 1 << thread;
            self.take(thread, &here, here.asleep | here.done);
            let runs = self.counts.executions + self.counts.redundant;
            stopped = runs >= budget || self.observer.enough() || stop.load(Ordering::Relaxed);
        }
        let rest = self.path[base..].iter().copied().zip(self.nodes.iter().copied()).collect();
        // Take back what is left, so that the observer's counts are whole.
        while self.path.len() > base {
            self.back();
        }
        Outcome {
            counts: self.counts,
            part: self.observer.take(&self.path),
            turns: std::mem::take(&mut self.turns),
            rest,
        }
    }

    /// How many steps more a thread may make in one go. Where it is looked whether the path goes round in a circle the
    /// program has to be at its end.
    fn more(&self, thread: usize) -> usize {
        let depth = self.path.len() + 1;
        let look = LONG.iter().find(|&&long| long >= depth).map_or(LONGEST, |long| long - depth);
        (self.max_steps - self.made[thread] - 1).min(look).min(LONGEST)
    }

    /// What the others who wait wait for.
    #[inline]
    fn watched(&self, thread: usize) -> Watched {
        let mut watched = Watched::default();
        let mut waiting = self.waiting & !(1 << thread);
        while waiting != 0 {
            watched.add_round(&self.program.waiting(waiting.trailing_zeros() as usize));
            waiting &= waiting - 1;
        }
        watched
    }

    /// Runs the thread from this node, and on as long as it would be gone on with first anyway, and looks at the states that it
    /// leads to.
    #[inline]
    fn take(&mut self, thread: usize, from: &Node, asleep: u64) {
        let mut asleep = if self.mode == Mode::Dpor { asleep } else { 0 };
        let last = self.path.last().copied();
        let preempted = last.is_some_and(|last| last != thread as u8 && from.enabled >> last & 1 != 0);
        let preemptions = from.preemptions + u32::from(preempted);
        let mut awaited = self.awaited(thread);
        let mut run = std::mem::take(&mut self.run);
        run.clear();
        let stop = self.program.steps(thread, self.more(thread), self.watched(thread), &mut run);
        let bit = 1 << thread;
        // As it stands between two steps of the run.
        self.waiting &= !bit;
        for (i, performed) in run.iter().enumerate() {
            if self.mode == Mode::Dpor {
                let mut path = Path { known: &self.known, nodes: &mut self.nodes, above: &mut self.turns };
                self.races.push(performed, awaited.take(), &mut path);
            }
            self.made(thread, performed);
            self.counts.events += 1;
            asleep = if asleep == 0 { 0 } else { self.still_asleep(asleep & !bit, performed) };
            if i + 1 < run.len() {
                self.open(from.enabled | bit, asleep, preemptions);
                self.nodes.last_mut().expect("just opened").done = bit;
            }
        }
        self.run = run;
        self.stands(thread, stop.standing);
        let enabled = self.enabled();
        if enabled == 0 {
            self.end(preemptions);
        } else {
            match if LONG.contains(&self.path.len()) { self.period() } else { None } {
                None => return self.open(enabled, asleep, preemptions),
                period => self.cut(period, preemptions),
            }
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
            Mode::Bounded { seen, .. } => seen.is_none_or(|seen| preemptions > seen),
            _ => true,
        }
    }

    /// Looks for races of the waiting reads that are disabled where an execution ends or is given up.
    fn blocked_races(&mut self, blocked: u64) {
        for thread in (0..self.threads).filter(|t| blocked >> t & 1 != 0) {
            let waiting = self.program.waiting(thread);
            let awaited = waiting.round[waiting.repeated];
            // A waiting read-modify-write, once it succeeds, may write.
            let writes = matches!(self.program.next(thread), Next::Access(a) if a.kind.may_write());
            let mut path = Path { known: &self.known, nodes: &mut self.nodes, above: &mut self.turns };
            self.races.at_end(thread, writes, &awaited, &mut path);
        }
    }

    /// No thread can run.
    fn end(&mut self, preemptions: u32) {
        if self.long != 0 {
            if self.mode == Mode::Dpor {
                self.blocked_races(self.ready);
            }
            let period = self.period();
            return self.cut(period, preemptions);
        }
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
                self.observer.tried(thread, access, &self.path);
            }
        }
        let end = End::waiting(&self.program, blocked);
        if !self.is_new(preemptions) {
            return;
        }
        self.counts.executions += 1;
        self.observer.end(end, &self.path);
        for thread in 0..self.threads {
            if self.program.next(thread) == Next::Fault {
                let fault = self.program.fault(thread);
                self.observer.fault(thread, fault, &self.path);
            }
        }
    }

    /// Threads have made as many steps as they may, or the path goes round in a circle.
    #[cold]
    fn cut(&mut self, period: Option<u32>, preemptions: u32) {
        if self.is_new(preemptions) {
            self.counts.cut += 1;
            self.counts.executions += 1;
            self.observer.end(End::Cut { period }, &self.path);
        }
    }

    /// How many steps ago the program was in the state it is in now, if every thread that can run has run since.
    #[cold]
    fn period(&mut self) -> Option<u32> {
        let (mut now, mut before) = (Vec::new(), Vec::new());
        self.program.state(&mut now);
        let enabled = self.enabled() | self.long;
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
    pub(crate) fn add(&mut self, initials: u64) {
        if initials & (self.todo | self.asleep) == 0 {
            let able = initials & self.enabled;
            // An initial that cannot run here would be a waiting read; then anything that can run will do.
            self.todo |= if able != 0 { able & able.wrapping_neg() } else { self.enabled };
        }
    }
}

/// Whether every read of the round would wait again.
pub(crate) fn unchanged(program: &impl Program, round: &[Awaited]) -> bool {
    round.iter().all(|awaited| awaited.blocks(program.value(awaited.addr)))
}
