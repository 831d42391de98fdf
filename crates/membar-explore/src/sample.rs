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
//! Each execution has a random number generator of its own, made of the seed and its number, so neither the number of
//! workers nor an interruption changes what is run. Waiting threads are treated as in exhaustive search
//! ([`crate::tree`]); a waiting thread cannot run, so PCT never starves the one it waits for.

use crate::worker::{Counts, End};
use crate::{Next, Observer, Program, Standing, Stop, Watched};
use membar_core::{Performed, Rng};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Executions that are asked for at a time after this many have been drawn. Few at first, so that the first results come
/// soon; more later on, since passing an order on to another process takes as long as some ten executions of a small program.
/// What is drawn, and what comes of it, does not depend on how it is divided.
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
pub(crate) struct Sampler<P, O> {
    program: P,
    observer: O,
    max_steps: usize,
    path: Vec<u8>,
    /// Steps that each thread has made. Empty as long as none can have made nearly as many as it may.
    made: Vec<usize>,
    /// Scratch: what a thread did in one go.
    run: Vec<Performed>,
}

/// As in [`crate::worker`]: threads whose next access is known, of these those in a waiting loop, and threads that are not
/// run any further.
#[derive(Default)]
struct Threads {
    ready: u64,
    waiting: u64,
    long: u64,
}

/// The numbers of the bits that are set.
fn bits(mut set: u64) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let bit = set.trailing_zeros() as usize;
        (set != 0).then(|| {
            set &= set - 1;
            bit
        })
    })
}

/// How many bits are set. Few threads are what most programs have, and not every machine has an instruction for this.
#[inline]
fn count(set: u64) -> u32 {
    const SMALL: [u8; 64] = {
        let mut counts = [0; 64];
        let mut set = 1;
        while set < counts.len() {
            counts[set] = counts[set / 2] + set as u8 % 2;
            set += 1;
        }
        counts
    };
    match SMALL.get(set as usize) {
        Some(&count) => u32::from(count),
        None => set.count_ones(),
    }
}

/// The n-th bit that is set. Who is next cannot be predicted, so for the first ones there is no branch.
#[inline]
fn nth(set: u64, n: u32) -> usize {
    let without = |set: u64| set & set.wrapping_sub(1);
    let (one, two) = (without(set), without(without(set)));
    let mut left = if n == 0 { set } else { one };
    left = if n < 2 { left } else { two };
    for _ in 2..n {
        left = without(left);
    }
    left.trailing_zeros() as usize
}

/// The most steps that a thread makes in one go, after the first.
const LONGEST: u32 = 63;

/// How often the thread, which has just been drawn from `able`, will be drawn again before another one, and which that is. If
/// it is not known it has to be drawn.
#[inline]
fn repeats(able: u64, thread: usize, rng: &mut Rng) -> (u32, Option<usize>) {
    let others = able & !(1 << thread);
    match count(others) {
        0 => (LONGEST, None),
        // Heads or tails.
        1 => match rng.next().trailing_zeros() {
            again @ ..LONGEST => (again, Some(others.trailing_zeros() as usize)),
            _ => (LONGEST, None),
        },
        n => {
            for again in 0..LONGEST {
                match rng.below(n + 1) {
                    0 => {}
                    other => return (again, Some(nth(others, other - 1))),
                }
            }
            (LONGEST, None)
        }
    }
}

impl<P: Program, O: Observer> Sampler<P, O> {
    pub fn new(program: P, observer: O, max_steps: usize) -> Sampler<P, O> {
        let (path, made, run) = (Vec::new(), Vec::new(), Vec::new());
        Sampler { program, observer, max_steps, path, made, run }
    }

    /// Notes how the thread stands.
    #[inline(always)]
    fn stands(&self, thread: usize, standing: Standing, threads: &mut Threads) {
        let bit = 1u64 << thread;
        threads.ready &= !bit;
        threads.waiting &= !bit;
        match standing {
            Standing::Stopped => {}
            Standing::Runs | Standing::Waits if self.steps_left(thread) != Some(0) => {
                threads.ready |= bit;
                threads.waiting |= u64::from(standing == Standing::Waits) << thread;
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
        for &thread in &self.path {
            self.made[usize::from(thread)] += 1;
        }
    }

    /// Waiting threads that are disabled.
    #[inline(always)]
    fn blocked(&self, waiting: u64) -> u64 {
        let (mut blocked, mut left) = (0, waiting);
        while left != 0 {
            let thread = left.trailing_zeros() as usize;
            left &= left - 1;
            blocked |= u64::from(self.program.is_blocked(thread)) << thread;
        }
        blocked
    }

    /// What those who wait wait for.
    #[inline(always)]
    fn watched(&self, waiting: u64) -> Watched {
        let mut watched = Watched::default();
        let mut left = waiting;
        while left != 0 {
            watched.add_round(&self.program.waiting(left.trailing_zeros() as usize));
            left &= left - 1;
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
            if stop.load(Ordering::Relaxed) {
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

    /// Runs an execution, and says how long it was.
    #[inline(never)] // whoever calls it has a life of its own in registers
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
        let mut now = Threads::default();
        for thread in 0..threads {
            self.stands(thread, self.program.standing(thread), &mut now);
        }
        let mut blocked = self.blocked(now.waiting);
        let mut watched = self.watched(now.waiting);
        // Who is next, if that was drawn already.
        let mut drawn = None;
        let end = loop {
            let able = now.ready & !blocked;
            if able == 0 {
                if now.long != 0 {
                    counts.cut = 1;
                    break End::Cut { period: None };
                }
                for thread in bits(now.ready) {
                    if let Next::Access(access) = self.program.next(thread) {
                        self.observer.tried(thread, access, &self.path);
                    }
                }
                break End::waiting(&self.program, now.ready);
            }
            let (thread, again, next) = match choice {
                Choice::Random => {
                    let thread = drawn.unwrap_or_else(|| nth(able, rng.below(count(able))));
                    let (again, next) = repeats(able, thread, &mut rng);
                    (thread, again, next)
                }
                Choice::Pct { .. } => {
                    let at = self.path.len() as u32;
                    let highest = |priority: &[u32]| bits(able).max_by_key(|&t| priority[t]).unwrap_or(0);
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
            let waited = now.waiting >> thread & 1 != 0;
            self.stands(thread, standing, &mut now);
            let waits = now.waiting >> thread & 1 != 0;
            // Only writes of what is watched change who is blocked, and whoever makes one has stopped after it.
            if waits {
                watched.add_round(&self.program.waiting(thread));
            } else if waited {
                watched = self.watched(now.waiting);
            }
            if disturbs {
                blocked = self.blocked(now.waiting);
            } else if waits && self.program.is_blocked(thread) {
                blocked |= 1 << thread;
            }
            let same = !disturbs && now.ready & !blocked == able && self.run.len() == again as usize + 1;
            drawn = if same { next } else { None };
            for performed in &self.run {
                self.path.push(thread as u8);
                self.observer.push(performed, &self.path);
            }
        };
        counts.events = self.path.len() as u64;
        self.observer.end(end, &self.path);
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
