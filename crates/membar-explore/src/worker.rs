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
//! 2. Make a step, and more of the same thread as long as it would be continued anyway ([`Program::steps`]). If nobody can run then, the execution has ended. Otherwise the new state becomes a node with the threads
//!    to run from it: all that can (exhaustive), all that the bound allows (bounded), or one (dpor, where races add more); the
//!    one that ran last comes first.
//! 3. Take the next thread of the deepest node, or, if it has none left, undo the step that led to it.
//!
//! # Invariants
//!
//! `path`, the program, the observer and the races are at the same state. `nodes[i]` is the state after
//! `known.len() + i` steps. A thread is in `ready` if it has an access to make and steps left, in `long` if it has an
//! access but no steps left, and in `waiting` or `choosing` only if it is in `ready`.
//!
//! A thread that has come to a choice makes it before any other thread makes a step: the node there has that thread alone, and an
//! outcome at a time is taken. [`crate::tree`] says why that is enough.
//!
//! # Complexity
//!
//! An execution costs the steps that it does not share with the one before; a step O(P) and what the races cost.

mod ends;

use crate::end::{Counts, unchanged};
use crate::node::Node;
use crate::races::{Races, Turn, Turns};
use crate::set::{Many, Set};
use crate::symmetry::{Shown, Symmetry};
use crate::tree::Task;
use crate::{Awaited, MAX_OUTCOMES, Next, Observer, Program, Standing, Step, Stop, Watched};
use membar_core::Performed;
use std::sync::atomic::{AtomicBool, Ordering};

/// Lengths of a path at which to look whether it is cyclic.
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
    /// With `strict`, a thread goes on after an idle round once it has something else to read.
    Dpor {
        strict: bool,
    },
}

impl Mode {
    #[inline]
    pub(crate) fn is_dpor(self) -> bool {
        matches!(self, Mode::Dpor { .. })
    }

    /// Whether threads stop for good after an idle round.
    #[inline]
    pub(crate) fn stops(self) -> bool {
        self == Mode::Dpor { strict: false }
    }
}

/// The path to the current state, as the race detection sees it.
pub(crate) struct Path<'a, S> {
    /// The threads that are taken care of at the nodes above the item, and at its own.
    pub(crate) known: &'a [S],
    /// The nodes below.
    pub(crate) nodes: &'a mut [Node<S>],
    /// Races that concern the nodes above.
    pub(crate) above: &'a mut Vec<Turn>,
}

impl<S: Set> Turns<S> for Path<'_, S> {
    #[inline]
    fn known(&self, depth: u32) -> S {
        let depth = depth as usize;
        match self.known.get(depth) {
            Some(&known) => known,
            None => {
                let node = &self.nodes[depth - self.known.len()];
                node.todo | node.asleep
            }
        }
    }

    fn turn(&mut self, turn: Turn<S>) {
        match (turn.depth as usize).checked_sub(self.known.len()) {
            Some(i) => self.nodes[i].add(turn.initials),
            None => self.above.push(Turn { depth: turn.depth, initials: turn.initials.many() }),
        }
    }
}

/// For steps whose races have been seen to.
struct Settled;

impl<S: Set> Turns<S> for Settled {
    fn known(&self, _: u32) -> S {
        !S::NONE
    }

    fn turn(&mut self, _: Turn<S>) {}
}

/// The result of an item.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Outcome<T> {
    pub(crate) counts: Counts,
    pub(crate) part: T,
    /// Races that concern the item's open node or one above it.
    pub(crate) turns: Vec<Turn>,
    /// If the item's own step was in vain ([`crate::tree`]): the threads that can be run instead of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instead: Option<Many>,
    /// If the item was not finished: its path below the open node, and the nodes on it.
    pub(crate) rest: Vec<(Step, Node)>,
}

/// Runs subtrees; one for each worker. Its program has no more threads than its sets have room for.
pub(crate) struct Worker<P, O, S> {
    pub(crate) program: P,
    pub(crate) observer: O,
    pub(crate) mode: Mode,
    max_steps: usize,
    threads: usize,
    /// Threads whose next access is known, of these those that are in a waiting loop and those that make a choice, and
    /// threads that are not run any further because they have made as many steps as they may.
    pub(crate) ready: S,
    waiting: S,
    pub(crate) choosing: S,
    long: S,
    /// Steps that each thread has made.
    made: Vec<usize>,
    pub(crate) path: Vec<Step>,
    pub(crate) races: Races,
    /// The trails of threads, if there are twins.
    symmetry: Option<Symmetry>,
    /// The threads that are taken care of at the nodes of the prefix.
    pub(crate) known: Vec<S>,
    pub(crate) nodes: Vec<Node<S>>,
    pub(crate) counts: Counts,
    pub(crate) turns: Vec<Turn>,
    /// As in [`Outcome`].
    pub(crate) instead: Option<Many>,
    /// Scratch: the steps that a thread made in one go.
    run: Vec<Performed>,
}

/// The most steps that a thread makes in one go, after the first.
const LONGEST: usize = 63;

impl<P: Program, O: Observer, S: Set> Worker<P, O, S> {
    pub fn new(program: P, observer: O, mode: Mode, max_steps: usize) -> Worker<P, O, S> {
        let threads = program.threads();
        let mut worker = Worker {
            observer,
            mode,
            max_steps,
            threads,
            ready: S::NONE,
            waiting: S::NONE,
            choosing: S::NONE,
            long: S::NONE,
            made: vec![0; threads],
            path: Vec::new(),
            races: Races::new(threads),
            symmetry: (mode.is_dpor() && program.is_symmetric()).then(|| Symmetry::new(threads)),
            known: Vec::new(),
            nodes: Vec::new(),
            counts: Counts::default(),
            turns: Vec::new(),
            instead: None,
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

    /// The state at the beginning, or the outcome of a program in which no thread can run.
    pub fn begin(&mut self) -> Result<Node, Box<Outcome<O::Part>>> {
        self.go_to(&[]);
        if self.symmetry.is_some() {
            crate::mirror::compare_twins(&mut self.program);
        }
        let enabled = self.enabled();
        if enabled.is_some() {
            return Ok(self.node(enabled, S::NONE, 0).0.many());
        }
        self.counts = Counts::default();
        self.end(S::NONE, 0);
        Err(Box::new(self.outcome(Vec::new())))
    }

    fn outcome(&mut self, rest: Vec<(Step, Node)>) -> Outcome<O::Part> {
        let (part, turns) = (self.observer.take(&self.path), std::mem::take(&mut self.turns));
        Outcome { counts: self.counts, part, turns, instead: None, rest }
    }

    /// Notes what the thread does next.
    #[inline]
    fn look(&mut self, thread: usize) {
        self.stands(thread, self.program.standing(thread));
    }

    /// Notes how the thread stands.
    #[inline]
    fn stands(&mut self, thread: usize, standing: Standing) {
        let bit = S::one(thread);
        self.ready &= !bit;
        self.waiting &= !bit;
        self.choosing &= !bit;
        self.long &= !bit;
        match standing {
            Standing::Stopped => {}
            Standing::Runs if self.made[thread] < self.max_steps => self.ready |= bit,
            Standing::Waits if self.made[thread] < self.max_steps => {
                self.ready |= bit;
                self.waiting |= bit;
            }
            Standing::Chooses if self.made[thread] < self.max_steps => {
                self.ready |= bit;
                self.choosing |= bit;
            }
            _ => self.long |= bit,
        }
    }

    /// If the thread's next access is a blocking one, or would close its idle round again: the condition it waits for.
    #[inline]
    pub(crate) fn awaited(&self, thread: usize) -> Option<Awaited> {
        if !self.waiting.has(thread) {
            return None;
        }
        let waiting = self.program.waiting(thread);
        (waiting.blocking || !self.mode.stops() && waiting.is_closing()).then(|| waiting.round[waiting.repeated])
    }

    /// Whether a waiting thread is disabled: see [`crate::tree`].
    fn is_blocked(&self, thread: usize) -> bool {
        match self.mode {
            Mode::Dpor { strict } => {
                let waiting = self.program.waiting(thread);
                if strict && !waiting.blocking {
                    // Of the round, only the value that its last read conflicts on may count.
                    return waiting.parked
                        || waiting.is_closing() && unchanged(&self.program, &waiting.round[waiting.repeated..]);
                }
                !waiting.blocking || unchanged(&self.program, waiting.round)
            }
            _ => self.program.is_blocked(thread),
        }
    }

    #[inline]
    pub(crate) fn enabled(&self) -> S {
        if self.choosing.is_some() {
            return self.choosing.lowest();
        }
        let mut enabled = self.ready;
        let mut waiting = self.waiting;
        while waiting.is_some() {
            let thread = waiting.first();
            waiting = waiting.rest();
            if self.is_blocked(thread) {
                enabled &= !S::one(thread);
            }
        }
        if let Some(symmetry) = &self.symmetry {
            enabled &= !self.led(symmetry, enabled);
        }
        enabled
    }

    /// Those of the threads that have to wait for their leaders.
    #[cold]
    fn led(&self, symmetry: &Symmetry, threads: S) -> S {
        let waits = |&thread: &usize| match symmetry.decree(&self.program, thread) {
            // One that has ended, unlike its follower, is not waited for: that tells them apart.
            Some(Err(leader)) => (self.ready | self.long).has(leader),
            _ => false,
        };
        threads.iter().filter(waits).fold(S::NONE, |led, thread| led | S::one(thread))
    }

    /// How many steps more a thread may make in one go without changing who can run: not further than its leader, and one at
    /// a time if somebody waits for it.
    #[cold]
    fn led_more(&self, symmetry: &Symmetry, thread: usize) -> usize {
        let waits = |other: usize| symmetry.decree(&self.program, other) == Some(Err(thread));
        if self.ready.iter().any(waits) { 0 } else { symmetry.steps(&self.program, thread).saturating_sub(1) }
    }

    /// The step that the thread's next step has to come after.
    #[inline]
    pub(crate) fn decree(&self, thread: usize) -> Option<(usize, usize)> {
        self.symmetry.as_ref()?.decree(&self.program, thread)?.ok()
    }

    /// Makes a step of a path that has been run before.
    pub(crate) fn forward(&mut self, step: Step) -> Performed {
        let thread = step.thread();
        let (awaited, decree) = (self.awaited(thread), self.decree(thread));
        let performed = self.program.repeat(step);
        if self.mode.is_dpor() {
            self.races.push::<S>(&performed, awaited, decree, &mut Settled);
        }
        self.made(step, &performed);
        self.look(thread);
        performed
    }

    /// Notes a step that has been made.
    #[inline(always)]
    pub(crate) fn made(&mut self, step: Step, performed: &Performed) {
        self.made[step.thread()] += 1;
        if let Some(symmetry) = &mut self.symmetry {
            match symmetry.push(&self.program, performed) {
                Shown::Nothing => {}
                Shown::Difference => self.program.tell_apart(step.thread()),
                Shown::Address => self.program.shows_address(step.thread()),
            }
        }
        self.path.push(step);
        self.observer.push(performed, &self.path);
    }

    #[inline]
    pub(crate) fn back(&mut self) {
        self.observer.pop(&self.path);
        let thread = self.path.pop().expect("a step to take back").thread();
        self.program.undo();
        self.made[thread] -= 1;
        if self.mode.is_dpor() {
            self.races.pop();
        }
        if let Some(symmetry) = &mut self.symmetry {
            symmetry.pop(thread);
        }
        self.look(thread);
    }

    /// The thread that made the last access. Choices at the very beginning are nobody's turn.
    #[inline]
    fn last(&self) -> Option<usize> {
        let mut steps = self.path.iter().rev();
        steps.find(|step| step.outcome().is_none()).map(|step| step.thread())
    }

    /// How many outcomes the choice has that is to be made here.
    #[cold]
    pub(crate) fn outcomes(&self) -> u16 {
        match self.program.next(self.choosing.first()) {
            Next::Access(access) => access.outcomes().unwrap_or(1).clamp(1, u64::from(MAX_OUTCOMES)) as u16,
            _ => 1,
        }
    }

    /// The state at the end of the path as a node.
    #[inline]
    fn node(&self, enabled: S, asleep: S, preemptions: u32) -> (Node<S>, bool) {
        let mut node = Node { todo: enabled, ..Node::new(enabled, preemptions) };
        if self.choosing.is_some() {
            node.outcomes = self.outcomes();
        }
        let last = self.last();
        match self.mode {
            Mode::Exhaustive => {}
            Mode::Bounded { bound, .. } => {
                if let Some(last) = last
                    && enabled.has(last)
                    && preemptions == bound
                {
                    node.todo = S::one(last);
                    return (node, enabled != node.todo);
                }
            }
            Mode::Dpor { .. } => {
                node.asleep = asleep;
                let awake = enabled & !asleep;
                // Go on with the same thread if it is not waiting: schedules with few switches are easier to read.
                let busy = if (awake & !self.waiting).is_some() { awake & !self.waiting } else { awake };
                node.todo = match last {
                    Some(last) if busy.has(last) => S::one(last),
                    _ => busy.lowest(),
                };
            }
        }
        (node, false)
    }

    /// Which of the threads in `asleep` stay so after this step, which waited for `awaited` if it was a blocking access.
    #[inline]
    pub(crate) fn still_asleep(&self, mut asleep: S, performed: &Performed, awaited: Option<Awaited>) -> S {
        let mut left = asleep;
        while left.is_some() {
            let thread = left.first();
            left = left.rest();
            let Next::Access(access) = self.program.next(thread) else { continue };
            let conflicts = access.addr == performed.access.addr
                && !(access.c11.meets() && performed.access.c11.meets())
                && (performed.writes || access.writes_on(performed.old));
            // The addresses that blocking accesses wait for, if they are not their own, are read too.
            let reads = |own: u32, awaited: Option<Awaited>, other: u32| {
                awaited.is_some_and(|awaited| awaited.addr != own && awaited.addr == other)
            };
            if conflicts
                || access.kind.may_write() && reads(performed.access.addr, awaited, access.addr)
                || performed.writes && reads(access.addr, self.awaited(thread), performed.access.addr)
            {
                asleep &= !S::one(thread);
            }
        }
        asleep
    }

    /// Whether this step can be made here.
    pub(crate) fn can(&self, step: Step) -> bool {
        step.thread() < self.threads && self.enabled().has(step.thread()) && self.program.fits(step)
    }

    /// Goes to the state at the end of `path` from wherever the last item ended, if the program has that path.
    pub(crate) fn go_to(&mut self, path: &[Step]) -> bool {
        let common = self.path.iter().zip(path).take_while(|(a, b)| a == b).count();
        while self.path.len() > common {
            self.back();
        }
        for &step in &path[common..] {
            if !self.can(step) {
                return false;
            }
            self.forward(step);
        }
        true
    }

    /// Goes to where the item begins, if it is one of this program: it may have been kept in a file.
    pub(crate) fn go_to_item(&mut self, task: &Task) -> bool {
        let Node { enabled, todo, done, asleep, futile, .. } = task.node;
        let named = enabled | todo | done | asleep | futile | task.asleep;
        named.threads().all(|thread| thread < self.threads)
            && self.go_to(&task.path)
            && (S::few(enabled) & !self.enabled()).is_none()
            && self.can(task.step)
    }

    /// Runs an item; nothing if the program has no such item.
    pub fn run(&mut self, task: &Task, budget: u64, stop: &AtomicBool) -> Option<Outcome<O::Part>> {
        self.known.clear();
        self.known.extend(task.known.iter().map(|&known| S::few(known)));
        self.nodes.clear();
        self.counts = Counts::default();
        if !self.go_to_item(task) {
            return None;
        }
        let base = task.path.len();
        self.take(task.step, &task.node.few(), S::few(task.asleep));
        let mut stopped = false;
        while let Some(node) = self.nodes.last() {
            let left = node.left();
            if left.is_none() {
                self.nodes.pop();
                self.back();
                continue;
            }
            if stopped {
                break;
            }
            let thread = match self.last() {
                Some(last) if left.has(last) => last,
                _ => left.first(),
            };
            let here = *node;
            let step = self.nodes.last_mut().expect("just seen").take(thread);
            self.take(step, &here, here.asleep | here.done);
            stopped = self.counts.runs() + self.counts.redundant >= budget
                || self.observer.enough()
                || stop.load(Ordering::Relaxed);
        }
        let rest = self.path[base..].iter().copied().zip(self.nodes.iter().map(Node::many)).collect();
        // Take back what is left, so that the observer's counts are whole.
        while self.path.len() > base {
            self.back();
        }
        Some(Outcome {
            counts: self.counts,
            part: self.observer.take(&self.path),
            turns: std::mem::take(&mut self.turns),
            instead: self.instead.take(),
            rest,
        })
    }

    /// How many steps more a thread may make in one go. Where the path is examined for cycles the
    /// program has to be at its end.
    fn more(&self, thread: usize) -> usize {
        let depth = self.path.len() + 1;
        let look = LONG.iter().find(|&&long| long >= depth).map_or(LONGEST, |long| long - depth);
        let more = (self.max_steps - self.made[thread] - 1).min(look).min(LONGEST);
        self.symmetry.as_ref().map_or(more, |symmetry| more.min(self.led_more(symmetry, thread)))
    }

    /// The conditions that the other waiting threads wait for.
    #[inline]
    fn watched(&self, thread: usize, futile: S) -> Watched {
        let mut watched = Watched::default();
        for other in futile.iter() {
            if let Next::Access(access) = self.program.next(other) {
                watched.add(access.addr);
            }
        }
        let mut waiting = self.waiting & !S::one(thread);
        while waiting.is_some() {
            let awaited = self.program.waiting(waiting.first());
            // Nothing that others do lets a stopped thread continue.
            if awaited.blocking || !self.mode.stops() {
                watched.add_round(&awaited);
            }
            waiting = waiting.rest();
        }
        watched
    }

    /// Runs the thread from this node, and on as long as it would be continued first anyway, and looks at the states that it
    /// leads to.
    #[inline]
    fn take(&mut self, step: Step, from: &Node<S>, asleep: S) {
        let thread = step.thread();
        let mut asleep = if self.mode.is_dpor() { asleep } else { S::NONE };
        let preempted = self.last().is_some_and(|last| last != thread && from.enabled.has(last));
        let preemptions = from.preemptions + u32::from(preempted);
        let mut awaited = self.awaited(thread);
        let mut run = std::mem::take(&mut self.run);
        run.clear();
        let stop = match step.outcome() {
            None => self.program.steps(thread, self.more(thread), self.watched(thread, from.futile), &mut run),
            Some(outcome) => self.choose(thread, outcome, &mut run),
        };
        let bit = S::one(thread);
        let mut futile = from.futile;
        let in_vain = stop.standing == Standing::Waits && step.outcome().is_none() && self.is_in_vain(thread);
        let vain = if in_vain { run.pop() } else { None };
        // As it stands between two steps of the run.
        self.waiting &= !bit;
        for (i, performed) in run.iter().enumerate() {
            if self.mode.is_dpor() {
                let decree = self.decree(thread);
                let mut path = Path { known: &self.known, nodes: &mut self.nodes, above: &mut self.turns };
                self.races.push(performed, awaited, decree, &mut path);
            }
            self.made(step, performed);
            self.counts.events += 1;
            asleep = if asleep.is_none() { asleep } else { self.still_asleep(asleep & !bit, performed, awaited) };
            if futile.is_some() {
                futile = self.still_futile(futile, performed);
            }
            awaited = None;
            if i + 1 < run.len() {
                self.open(from.enabled | bit, asleep, futile, preemptions);
                self.nodes.last_mut().expect("just opened").done = bit;
            }
        }
        let steps = run.len();
        self.run = run;
        match vain {
            None => self.stands(thread, stop.standing),
            Some(performed) => {
                self.try_in_vain(step, &performed, awaited);
                futile |= bit;
                if steps == 0 {
                    return self.instead(bit, from);
                }
            }
        }
        let enabled = self.enabled() & !futile;
        if enabled.is_none() {
            self.end(futile, preemptions);
        } else {
            match if LONG.contains(&self.path.len()) { self.period() } else { None } {
                None => return self.open(enabled, asleep, futile, preemptions),
                period => self.cut(period, preemptions),
            }
        }
        self.nodes.push(Node::new(S::NONE, preemptions));
    }

    /// Makes a choice.
    #[cold]
    fn choose(&mut self, thread: usize, outcome: u32, run: &mut Vec<Performed>) -> Stop {
        run.push(self.program.choose(thread, outcome));
        Stop { standing: self.program.standing(thread), disturbs: false }
    }

    /// Goes on from the state at the end of the path.
    #[inline]
    fn open(&mut self, enabled: S, asleep: S, futile: S, preemptions: u32) {
        let (mut node, cut_by_bound) = self.node(enabled, asleep, preemptions);
        node.futile = futile;
        self.counts.bounded |= cut_by_bound;
        if node.todo.is_none() {
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
}
