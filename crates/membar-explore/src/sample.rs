//! Executions chosen at random: uniformly, or by priorities (PCT).
//!
//! *Random* runs, at each step, one of the threads that can run, each with the same chance. *PCT* (Burckhardt, Kothari,
//! Musuvathi, Nagarakatte: A randomized scheduler with probabilistic guarantees of finding bugs, ASPLOS 2010) gives the
//! threads random priorities and always runs the highest one that can run, but at d-1 random steps it moves the thread
//! that is running below all others. A bug of depth d (one that needs d ordering constraints) shows with a probability of
//! at least 1/(n·k^(d-1)) in each execution of n threads and k steps. k is not known beforehand: the length of the first
//! execution stands for it.
//!
//! A thread that is chosen several times in a row runs in one go ([`Program::steps`]): as long as nothing changes about who
//! can run, how often it will be chosen can be drawn beforehand.
//!
//! A choice is made as soon as a thread has come to it, each outcome with the same chance.
//!
//! Each execution has its own random number generator, made of the seed and its number, so neither the number of
//! workers nor an interruption changes what is run. Waiting threads are treated as in exhaustive search
//! ([`crate::tree`]); a waiting thread cannot run, so PCT never starves the one it waits for.

use crate::end::{Counts, End};
use crate::set::Set;
use crate::{MAX_OUTCOMES, Next, Observer, Program, Standing, Step, Stop, Watched};
use membar_core::{Performed, Rng};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Executions that are asked for at a time after this many have been drawn. Few at first, so that the first results come
/// soon; more later on, since passing an order on to another process takes as long as some ten executions of a small program.
/// Draws and their results do not depend on how the work is divided.
pub(crate) fn order(drawn: u64) -> u64 {
    (drawn / 64).clamp(64, 4096)
}

/// How to choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Choice {
    Random,
    Pct { depth: u32, steps: u32 },
}

/// Executions that were run.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Drawn<T> {
    pub(crate) counts: Counts,
    pub(crate) part: T,
    /// The length of the last one.
    pub(crate) steps: u32,
}

/// Runs single executions.
pub(crate) struct Sampler<P, O, S> {
    program: P,
    observer: O,
    max_steps: usize,
    path: Vec<Step>,
    /// Steps that each thread has made. Empty as long as none can have made nearly as many as it may.
    made: Vec<usize>,
    /// Scratch: the steps that a thread made in one go.
    run: Vec<Performed>,
    sets: PhantomData<S>,
}

/// As in [`crate::worker`]: threads whose next access is known, of these those in a waiting loop and those that make a choice,
/// and threads that are not run any further.
struct Threads<S> {
    ready: S,
    waiting: S,
    choosing: S,
    long: S,
}

/// The most steps that a thread makes in one go, after the first.
const LONGEST: u32 = 63;

/// How often the thread, which has just been drawn from `able`, will be drawn again before another one, and which that is. If
/// it is not known it has to be drawn.
#[inline]
fn repeats<S: Set>(able: S, thread: usize, rng: &mut Rng) -> (u32, Option<usize>) {
    let others = able & !S::one(thread);
    match others.count() {
        0 => (LONGEST, None),
        // Heads or tails.
        1 => match rng.next().trailing_zeros() {
            again @ ..LONGEST => (again, Some(others.first())),
            _ => (LONGEST, None),
        },
        n => {
            for again in 0..LONGEST {
                match rng.below(n + 1) {
                    0 => {}
                    other => return (again, Some(others.nth(other - 1))),
                }
            }
            (LONGEST, None)
        }
    }
}

impl<P: Program, O: Observer, S: Set> Sampler<P, O, S> {
    pub fn new(program: P, observer: O, max_steps: usize) -> Sampler<P, O, S> {
        let (path, made, run) = (Vec::new(), Vec::new(), Vec::new());
        Sampler { program, observer, max_steps, path, made, run, sets: PhantomData }
    }

    /// Notes how the thread stands.
    #[inline(always)]
    fn stands(&self, thread: usize, standing: Standing, threads: &mut Threads<S>) {
        let bit = S::one(thread);
        threads.ready &= !bit;
        threads.waiting &= !bit;
        match standing {
            Standing::Stopped => {}
            Standing::Runs | Standing::Waits if self.steps_left(thread) != Some(0) => {
                threads.ready |= bit;
                threads.waiting |= S::one_if(thread, standing == Standing::Waits);
            }
            Standing::Chooses if self.steps_left(thread) != Some(0) => {
                threads.ready |= bit;
                threads.choosing |= bit;
            }
            _ => threads.long |= bit,
        }
    }

    /// How many steps more the thread may make, if that has to be looked at.
    #[inline(always)]
    fn steps_left(&self, thread: usize) -> Option<usize> {
        self.made.get(thread).map(|made| self.max_steps - made)
    }

    /// If a thread may soon have made all the steps that it may, they are counted from now on.
    #[inline(always)]
    fn near_limit(&mut self, threads: usize) {
        if self.path.len() + 2 * LONGEST as usize >= self.max_steps && self.made.is_empty() {
            self.count_steps(threads);
        }
    }

    #[cold]
    #[inline(never)]
    fn count_steps(&mut self, threads: usize) {
        self.made.resize(threads, 0);
        for step in &self.path {
            self.made[step.thread()] += 1;
        }
    }

    /// Waiting threads that are disabled.
    #[inline(always)]
    fn blocked(&self, waiting: S) -> S {
        let (mut blocked, mut left) = (S::NONE, waiting);
        while left.is_some() {
            let thread = left.first();
            left = left.rest();
            blocked |= S::one_if(thread, self.program.is_blocked(thread));
        }
        blocked
    }

    /// The conditions that the waiting threads wait for.
    #[inline(always)]
    fn watched(&self, waiting: S) -> Watched {
        let mut watched = Watched::default();
        let mut left = waiting;
        while left.is_some() {
            watched.add_round(&self.program.waiting(left.first()));
            left = left.rest();
        }
        watched
    }

    pub fn program(&self) -> &P {
        &self.program
    }

    /// The program, at its beginning, and the observer.
    pub fn into_parts(self) -> (P, O) {
        (self.program, self.observer)
    }

    /// Runs executions with these numbers, until it is stopped or one shows enough.
    pub fn draw(&mut self, choice: Choice, seed: u64, numbers: Range<u64>, stop: &AtomicBool) -> Drawn<O::Part> {
        let (mut counts, mut steps) = (Counts::default(), 0);
        for number in numbers {
            // A run may reveal more threads than there is room for: somebody else has to continue.
            if stop.load(Ordering::Relaxed) || self.program.threads() > S::MOST {
                break;
            }
            let (one, length) = self.run(choice, seed, number);
            counts.add(&one);
            steps = length;
            if self.observer.enough() {
                break;
            }
        }
        Drawn { counts, part: self.observer.take(&self.path), steps }
    }

    /// The thread makes its choice, each outcome with the same chance: how it stands then.
    #[cold]
    fn choose(&mut self, thread: usize, rng: &mut Rng) -> Standing {
        let Next::Access(access) = self.program.next(thread) else { return Standing::Stopped };
        let outcomes = access.outcomes().unwrap_or(1).clamp(1, u64::from(MAX_OUTCOMES));
        let outcome = rng.below(outcomes as u32);
        let performed = self.program.choose(thread, outcome);
        self.path.push(Step::choice(thread, outcome));
        self.observer.push(&performed, &self.path);
        if let Some(made) = self.made.get_mut(thread) {
            *made += 1;
        }
        self.program.standing(thread)
    }

    /// Runs an execution, and says how long it was.
    #[inline(never)] // its callers need their registers
    fn run(&mut self, choice: Choice, seed: u64, number: u64) -> (Counts, u32) {
        let mut rng = Rng::stream(seed, number);
        let threads = self.program.threads();
        let mut counts = Counts { executions: 1, ..Counts::default() };
        // Priorities above `depth` at first; changed ones go below all of those.
        let mut priority: Vec<u32> = Vec::new();
        let mut changes: Vec<u32> = Vec::new();
        if let Choice::Pct { depth, steps } = choice {
            priority = (depth..depth + threads as u32).collect();
            rng.shuffle(&mut priority);
            changes = (1..depth).map(|_| rng.below(steps.max(1))).collect();
        }
        self.made.clear();
        self.near_limit(threads);
        let mut now = Threads { ready: S::NONE, waiting: S::NONE, choosing: S::NONE, long: S::NONE };
        for thread in 0..threads {
            self.stands(thread, self.program.standing(thread), &mut now);
        }
        let mut blocked = self.blocked(now.waiting);
        let mut watched = self.watched(now.waiting);
        // The next thread, if it was drawn already.
        let mut drawn = None;
        let end = loop {
            let able = now.ready & !blocked;
            if now.choosing.is_some() {
                let thread = now.choosing.first();
                now.choosing = now.choosing.rest();
                if let Some(change) = changes.iter().position(|&change| change == self.path.len() as u32) {
                    priority[thread] = change as u32;
                }
                let standing = self.choose(thread, &mut rng);
                self.near_limit(threads);
                self.stands(thread, standing, &mut now);
                if now.waiting.has(thread) {
                    watched.add_round(&self.program.waiting(thread));
                    blocked |= S::one_if(thread, self.program.is_blocked(thread));
                }
                drawn = None;
                continue;
            }
            if able.is_none() {
                if now.long.is_some() {
                    counts.cut = 1;
                    break End::Cut { period: None };
                }
                for thread in now.ready.iter() {
                    if let Next::Access(access) = self.program.next(thread) {
                        self.observer.tried(thread, access, &self.path);
                    }
                }
                break End::waiting(&self.program, now.ready);
            }
            let (thread, again, next) = match choice {
                Choice::Random => {
                    let thread = drawn.unwrap_or_else(|| able.nth(rng.below(able.count())));
                    let (again, next) = repeats(able, thread, &mut rng);
                    (thread, again, next)
                }
                Choice::Pct { .. } => {
                    let at = self.path.len() as u32;
                    let highest = |priority: &[u32]| able.iter().max_by_key(|&t| priority[t]).unwrap_or(0);
                    if let Some(change) = changes.iter().position(|&change| change == at) {
                        let first = highest(&priority);
                        priority[first] = change as u32;
                    }
                    let until =
                        changes.iter().filter(|&&change| change > at).min().map_or(LONGEST, |next| next - at - 1);
                    (highest(&priority), until.min(LONGEST), None)
                }
            };
            self.near_limit(threads);
            let more = (again as usize).min(self.steps_left(thread).map_or(usize::MAX, |left| left - 1));
            self.run.clear();
            let Stop { standing, disturbs } = self.program.steps(thread, more, watched, &mut self.run);
            if let Some(made) = self.made.get_mut(thread) {
                *made += self.run.len();
            }
            let waited = now.waiting.has(thread);
            self.stands(thread, standing, &mut now);
            let waits = now.waiting.has(thread);
            // Only writes of what is watched change who is blocked, and a thread that makes one has stopped after it.
            if waits {
                watched.add_round(&self.program.waiting(thread));
            } else if waited {
                watched = self.watched(now.waiting);
            }
            if disturbs {
                blocked = self.blocked(now.waiting);
            } else if waits && self.program.is_blocked(thread) {
                blocked |= S::one(thread);
            }
            let same = !disturbs && now.ready & !blocked == able && self.run.len() == again as usize + 1;
            drawn = if same { next } else { None };
            for performed in &self.run {
                self.path.push(Step::of(thread));
                self.observer.push(performed, &self.path);
            }
        };
        counts.events = self.path.len() as u64;
        counts.dropped = u64::from(end == End::Dropped);
        self.observer.end(end, &self.path);
        if end == End::Complete {
            self.observer.outcome(self.program.outcome(), &self.path);
        }
        for thread in 0..threads {
            if matches!(self.program.next(thread), Next::Fault) {
                let fault = self.program.fault(thread);
                self.observer.fault(thread, fault, &self.path);
            }
        }
        let steps = self.path.len() as u32;
        self.observer.restart(&self.path);
        self.program.restart(self.path.len());
        self.path.clear();
        (counts, steps)
    }
}
