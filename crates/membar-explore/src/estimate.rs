//! How many executions a search will run.
//!
//! # Problem
//!
//! What dpor runs from a state shows only while it runs what is below. How much is left?
//!
//! # Algorithm
//!
//! Knuth's: walk down a tree, to a child chosen at random at each node, and multiply the numbers of children on the way. The
//! product is, on average, the number of leaves. Dpor's own tree is not known beforehand, but the tree of sleep sets is: from
//! each state all threads that can run and are not asleep, in order, each with those before it asleep. It has one complete leaf for each class, and
//! leaves where everybody is asleep, which count 0. So the average over many walks tends to the number of classes, blocked
//! executions included.
//!
//! # Guarantees
//!
//! None: the spread of the walks says how much the average is worth, and where it is wide nothing is said. A few large products may
//! still be missing from it, and then the guess is low.
//!
//! The same walks weigh a subtree ([`crate::tree`]), and those of exhaustive search if nobody is asleep in them.
//!
//! # Complexity
//!
//! A walk costs as much as an execution.
//!
//! # References
//!
//! Knuth: Estimating the efficiency of backtrack programs, 1975.

use crate::Step;
use crate::set::Set;
use crate::tree::Task;
use crate::worker::Worker;
use crate::{Observer, Program};
use membar_core::Rng;
use std::sync::atomic::{AtomicBool, Ordering};

/// An average of guesses, one after the other.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Estimate {
    guesses: u32,
    mean: f64,
    /// The sum of squared distances from the mean.
    squares: f64,
}

/// Fewer guesses say nothing.
const FEW: u32 = 100;
/// Nor does an average that may be off by this much of itself.
const WIDE: f64 = 0.5;
/// Steps after which a walk is given up.
const LONG: usize = 4096;

impl Estimate {
    /// Takes a guess into account (Welford).
    pub(crate) fn add(&mut self, guess: f64) {
        self.guesses += 1;
        let before = guess - self.mean;
        self.mean += before / f64::from(self.guesses);
        self.squares += before * (guess - self.mean);
    }

    /// How many executions there are, and by which part of that the number is expected to be off. Nothing if nobody knows.
    pub fn total(&self) -> Option<(f64, f64)> {
        let n = f64::from(self.guesses);
        let off = (self.squares / (n - 1.0).max(1.0) / n.max(1.0)).sqrt() / self.mean;
        (self.guesses >= FEW && self.mean > 0.0 && off < WIDE).then_some((self.mean, off))
    }
}

impl<P: Program, O: Observer, S: Set> Worker<P, O, S> {
    /// Guesses how many executions there are, this many times.
    pub(crate) fn probe(&mut self, seed: u64, probes: u32, stop: &AtomicBool) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        let mut guesses = Vec::new();
        for _ in 0..probes {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            self.go_to(&[]);
            guesses.push(self.walk(&mut rng, S::NONE, S::NONE));
        }
        self.go_to(&[]);
        // What was seen on the way is seen again by the search.
        drop(self.observer.take(&self.path));
        guesses
    }

    /// Guesses how many executions an item has, this many times.
    pub(crate) fn weigh(&mut self, task: &Task, seed: u64, probes: u32, stop: &AtomicBool) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        let mut guesses = Vec::new();
        for _ in 0..probes {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            if !self.go_to_item(task) {
                break;
            }
            let asleep = if self.mode.is_dpor() { S::few(task.asleep) } else { S::NONE };
            let walked = self.walked(task.step, asleep, S::few(task.node.futile));
            guesses.push(walked.map_or(0.0, |(asleep, futile)| self.walk(&mut rng, asleep, futile)));
        }
        self.go_to(&task.path);
        drop(self.observer.take(&self.path));
        guesses
    }

    /// Makes a step, unless that is in vain; who is asleep then, and who cannot run.
    fn walked(&mut self, step: Step, asleep: S, futile: S) -> Option<(S, S)> {
        let awaited = self.awaited(step.thread());
        let performed = self.forward(step);
        if step.outcome().is_none() && self.is_in_vain(step.thread()) {
            self.back();
            return None;
        }
        let futile = self.still_futile(futile, &performed);
        Some((self.still_asleep(asleep & !S::one(step.thread()), &performed, awaited), futile))
    }

    /// Walks to an end from the current state.
    fn walk(&mut self, rng: &mut Rng, mut asleep: S, mut futile: S) -> f64 {
        let (mut leaves, dpor) = (1.0, self.mode.is_dpor());
        while self.path.len() < LONG {
            let enabled = self.enabled() & !futile;
            if enabled.is_none() {
                break;
            }
            let before = (leaves, asleep);
            let step = if self.choosing.is_some() {
                let outcomes = self.outcomes();
                leaves *= f64::from(outcomes);
                Step::choice(enabled.first(), rng.below(u32::from(outcomes)))
            } else {
                let mut awake = enabled & !asleep;
                if awake.is_none() {
                    return 0.0;
                }
                leaves *= f64::from(awake.count());
                for _ in 0..rng.below(awake.count()) {
                    asleep |= S::one_if(awake.first(), dpor);
                    awake = awake.rest();
                }
                Step::of(awake.first())
            };
            match self.walked(step, asleep, futile) {
                Some(now) => (asleep, futile) = now,
                None => {
                    // The choice is between the others.
                    (leaves, asleep) = before;
                    futile |= S::one(step.thread());
                }
            }
        }
        leaves
    }
}
