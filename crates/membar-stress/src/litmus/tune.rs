//! How batches are run, and which ways are used most.
//!
//! Each way is tried a few times; after that one batch in eight is run in a random way, the others in the one that has scored best. Scores of
//! long ago count less, since what happens beside the test changes.

use membar_simulate::Rng;

/// The thread whose cache holds a variable before the test starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum First {
    /// Anybody's.
    Anybody,
    /// That of a thread which only reads it: its load is fast, and stores of others are slow.
    Reader,
    /// That of a thread which writes it.
    Writer,
}

/// How a batch is run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Way {
    pub first: First,
    /// From one common start to the next, in instances; 0: threads run freely.
    pub every: usize,
    /// At a common start each waits up to this many cycles longer.
    pub window: u32,
    /// Makes the chances of each batch its own.
    pub stream: u64,
}

#[derive(Debug)]
pub(super) struct Tuner {
    ways: Vec<(Way, Score)>,
    now: usize,
    rng: Rng,
    batches: u64,
    /// No thread runs another batch.
    pub last: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Score {
    mean: f64,
    batches: u32,
}

/// Common starts, and how far threads may miss them.
const STARTS: [(usize, u32); 7] = [(0, 0), (1, 0), (16, 0), (16, 200), (1, 50), (1, 200), (1, 800)];
/// How many of these make sense where threads share cores.
const CROWDED: usize = 2;
/// Batches of each way before they are compared.
const TRIALS: u32 = 2;
/// The minimum weight of a new score.
const FRESH: f64 = 1.0 / 32.0;

impl Tuner {
    /// With several threads on a core, they cannot start together, and there is little to vary.
    pub fn new(seed: u64, crowded: bool) -> Tuner {
        let mut ways = Vec::new();
        for first in [First::Anybody, First::Reader, First::Writer] {
            for &(every, window) in if crowded { &STARTS[..CROWDED] } else { &STARTS[..] } {
                ways.push((Way { first, every, window, stream: 0 }, Score::default()));
            }
        }
        Tuner { ways, now: 0, rng: Rng::stream(seed, 77), batches: 0, last: false }
    }

    /// How to run the next batch.
    pub fn way(&self) -> Way {
        Way { stream: self.batches, ..self.ways[self.now].0 }
    }

    /// The batch scored this much; chooses the next way.
    pub fn learn(&mut self, score: f64) {
        let known = &mut self.ways[self.now].1;
        known.batches += 1;
        known.mean += (score - known.mean) * (1.0 / f64::from(known.batches)).max(FRESH);
        self.batches += 1;
        self.now = match self.ways.iter().position(|(_, score)| score.batches < TRIALS) {
            Some(untried) => untried,
            None if self.rng.chance(1, 8) => self.rng.below(self.ways.len() as u32) as usize,
            None => self.best(),
        };
    }

    fn best(&self) -> usize {
        let mean = |at: &usize| self.ways[*at].1.mean;
        (0..self.ways.len()).max_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_score_is_used_most() {
        let mut tuner = Tuner::new(1, false);
        let mut used = 0;
        for _ in 0..1000 {
            let good = tuner.way().window == 800 && tuner.way().first == First::Reader;
            used += u32::from(good);
            tuner.learn(if good { 2.0 } else { 1.0 });
        }
        assert!((700..980).contains(&used), "{used}");
        assert!(tuner.ways.iter().all(|(_, score)| score.batches >= TRIALS));
    }
}
