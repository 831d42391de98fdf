//! Executions chosen at random: uniformly, or by priorities (PCT).
//!
//! *Random* runs, at each step, one of the threads that can run, each with the same chance. *PCT* (Burckhardt, Kothari,
//! Musuvathi, Nagarakatte: A randomized scheduler with probabilistic guarantees of finding bugs, ASPLOS 2010) gives the
//! threads random priorities and always runs the highest one that can run, but at d-1 random steps it moves the thread
//! that is running below all others. A bug of depth d (one that needs d ordering constraints) shows with a probability of
//! at least 1/(n·k^(d-1)) in each execution of n threads and k steps. k is not known beforehand: the length of the first
//! execution stands for it.
//!
//! Each execution has a random number generator of its own, made of the seed and its number, so neither the number of
//! workers nor an interruption changes what is run. Waiting threads are treated as in exhaustive search
//! ([`crate::tree`]); a waiting thread cannot run, so PCT never starves the one it waits for.

use crate::worker::{Counts, End, unchanged};
use crate::{Next, Observer, Program};
use membar_core::Rng;

/// How to choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Choice {
    Random,
    Pct { depth: u32, steps: u32 },
}

/// Runs single executions.
pub(crate) struct Sampler<P, O> {
    program: P,
    observer: O,
    max_steps: usize,
    path: Vec<u8>,
}

impl<P: Program, O: Observer> Sampler<P, O> {
    pub fn new(program: P, observer: O, max_steps: usize) -> Sampler<P, O> {
        Sampler { program, observer, max_steps, path: Vec::new() }
    }

    /// Runs execution `number` and says how long it was.
    pub fn run(&mut self, choice: Choice, seed: u64, number: u64) -> (Counts, O::Part, u32) {
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
        let mut made = vec![0; threads];
        let end = loop {
            let (mut able, mut blocked, mut long) = (0u64, 0u64, false);
            for (thread, &made) in made.iter().enumerate() {
                let next = self.program.next(thread);
                if next == Next::Long || (made >= self.max_steps && matches!(next, Next::Access(_))) {
                    long = true;
                } else if let Next::Access(_) = next {
                    let waiting = self.program.waiting(thread);
                    let waits = waiting.is_closing() && unchanged(&self.program, waiting.round);
                    *(if waits { &mut blocked } else { &mut able }) |= 1 << thread;
                }
            }
            if able == 0 && long {
                counts.cut = 1;
                break End::Cut { period: None };
            }
            if able == 0 {
                for thread in (0..threads).filter(|t| blocked >> t & 1 != 0) {
                    if let Next::Access(access) = self.program.next(thread) {
                        self.observer.tried(thread, access, &self.path);
                    }
                }
                break if blocked == 0 { End::Complete } else { End::Deadlock { waiting: blocked } };
            }
            let able = (0..threads).filter(|t| able >> t & 1 != 0);
            let thread = match choice {
                Choice::Random => {
                    let n = able.clone().count() as u32;
                    able.clone().nth(rng.below(n) as usize)
                }
                Choice::Pct { .. } => {
                    let now = self.path.len() as u32;
                    let highest = able.clone().max_by_key(|&t| priority[t]);
                    if let Some(change) = changes.iter().position(|&at| at == now) {
                        priority[highest.unwrap_or(0)] = change as u32;
                    }
                    able.clone().max_by_key(|&t| priority[t])
                }
            };
            let thread = thread.expect("a thread that can run");
            let performed = self.program.step(thread);
            made[thread] += 1;
            self.path.push(thread as u8);
            self.observer.push(&performed, &self.path);
            counts.events += 1;
        };
        self.observer.end(end, &self.path);
        for thread in 0..threads {
            if self.program.next(thread) == Next::Fault {
                let fault = self.program.fault(thread);
                self.observer.fault(thread, fault, &self.path);
            }
        }
        let steps = self.path.len() as u32;
        while !self.path.is_empty() {
            self.observer.pop(&self.path);
            self.program.undo();
            self.path.pop();
        }
        (counts, self.observer.take(&self.path), steps)
    }
}
