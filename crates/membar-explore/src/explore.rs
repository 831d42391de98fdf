//! One search for all strategies: advanced in rounds, watched, stopped, saved and taken up again.
//!
//! A [`SearchState`] is all that is needed to continue: the frontier of a systematic search, the parts of a search of graphs that are left, or how
//! many executions were drawn. A round gives workers orders of a few milliseconds and merges their answers in the order of the orders.
//!
//! Invariants: between two rounds the state is complete: what is not in its counts is still in what is left. What is counted and
//! found does not depend on the number of workers, on where rounds end, nor on being stopped, saved and split on the way.
//!
//! Complexity: that of the executions that are run; guesses of how many there are take at most a fiftieth of the time. A search bounded by
//! preemptions runs executions of smaller bounds again, for bounds that about double.

use crate::end::Counts;
use crate::estimate::Estimate;
use crate::graph::GraphTask;
use crate::sample::{self, Choice};
use crate::tree::{self, Frontier};
use crate::work::{Answer, Order, Work};
use crate::worker::Mode;
use membar_core::GraphModel;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Which executions to run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// All of them.
    Exhaustive,
    /// All with no preemption, then all with one, with two, and with more and more, up to this many.
    Bounded {
        /// The most preemptions: switches away from a thread that could continue.
        preemptions: u32,
    },
    /// One of each happens-before class, without rounds of loops that change nothing (`tree.rs`).
    Dpor,
    /// One of each happens-before class, rounds that change nothing included: each once for the values that it reads.
    Strict,
    /// One of each execution graph of a memory model itself (`graph/search.rs`).
    Graphs {
        /// The model.
        #[serde(with = "model")]
        model: GraphModel,
        /// Whether data races are looked for, if the model is C11.
        races: bool,
        /// Whether bytes are told apart, if the model has store buffers (`buffers/mod.rs`): then states are explored, not graphs.
        #[serde(default)]
        bytes: bool,
    },
    /// This many, each step by a thread chosen at random.
    Random {
        /// How many.
        executions: u64,
        /// Where the random numbers begin.
        seed: u64,
    },
    /// This many, by random priorities that change `depth - 1` times.
    Pct {
        /// How many.
        executions: u64,
        /// Where the random numbers begin.
        seed: u64,
        /// How many ordering constraints a bug may need to be found with the promised probability.
        depth: u32,
    },
}

pub(crate) mod model {
    use super::GraphModel;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(model: &GraphModel, to: S) -> Result<S::Ok, S::Error> {
        model.name().serialize(to)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<GraphModel, D::Error> {
        let name = String::deserialize(from)?;
        let found = GraphModel::ALL.into_iter().find(|model| model.name() == name);
        found.ok_or_else(|| D::Error::custom(format!("`{name}` is not a model")))
    }
}

/// A search between two rounds: everything that is needed to continue.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct SearchState {
    strategy: Strategy,
    counts: Counts,
    #[serde(deserialize_with = "tree::sound")]
    frontier: Frontier,
    /// Parts of a search of graphs that are left, to be done from the last one on.
    #[serde(default)]
    graphs: Vec<GraphTask>,
    /// The bound on preemptions that is being explored, and the one before it.
    bound: u32,
    seen: Option<u32>,
    /// Whether something was left out at this bound.
    bounded: bool,
    /// Executions chosen at random so far.
    drawn: u64,
    /// The length of the first of them.
    steps: u32,
    done: bool,
    #[serde(default)]
    estimate: Estimate,
}

impl Strategy {
    /// Whether it runs one execution of each class.
    pub fn is_dpor(self) -> bool {
        matches!(self, Strategy::Dpor | Strategy::Strict)
    }
}

impl SearchState {
    /// At the beginning.
    pub fn new(strategy: Strategy) -> SearchState {
        SearchState {
            strategy,
            counts: Counts::default(),
            frontier: Frontier::new(),
            graphs: vec![GraphTask::default()],
            bound: 0,
            seen: None,
            bounded: false,
            drawn: 0,
            steps: 0,
            done: false,
            estimate: Estimate::default(),
        }
    }

    /// The strategy.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Counts of the runs so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether there is nothing left to run.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Whether every execution of the program (dpor: every class) has been run to its end.
    pub fn is_complete(&self) -> bool {
        let systematic = match self.strategy {
            Strategy::Exhaustive | Strategy::Dpor | Strategy::Strict | Strategy::Graphs { .. } => true,
            Strategy::Bounded { .. } => !self.bounded,
            Strategy::Random { .. } | Strategy::Pct { .. } => false,
        };
        self.done && systematic && self.counts.cut == 0
    }

    /// All executions with at most this many preemptions have been run, if that is what was asked for.
    pub fn preemptions_done(&self) -> Option<u32> {
        match self.strategy {
            Strategy::Bounded { .. } if self.done => Some(self.bound),
            Strategy::Bounded { .. } => self.seen,
            _ => None,
        }
    }

    /// The bound on preemptions that is being explored, if there is one.
    pub fn preemptions_bound(&self) -> Option<u32> {
        matches!(self.strategy, Strategy::Bounded { .. }).then_some(self.bound)
    }

    /// A guess of the share of the search that is done, from 0 to 1. With dpor nobody can tell: what is to be run from a
    /// state shows only while what is below it is run.
    pub fn share(&self) -> Option<f64> {
        match self.strategy {
            Strategy::Random { executions, .. } | Strategy::Pct { executions, .. } => {
                Some(self.drawn as f64 / executions.max(1) as f64)
            }
            Strategy::Dpor | Strategy::Strict | Strategy::Graphs { .. } => None,
            Strategy::Exhaustive | Strategy::Bounded { .. } => Some(self.frontier.share.min(1.0)),
        }
    }

    /// How many executions there are, as far as can be guessed. With dpor, guesses begin after a second.
    pub fn estimate(&self) -> Estimate {
        self.estimate
    }

    /// Hands out everything that is left to at most this many searches, each with counts of its own. When one is done,
    /// [`SearchState::rejoin`] takes it back. Nothing if this strategy cannot be split.
    pub fn split(&mut self, parts: usize) -> Option<Vec<SearchState>> {
        if !matches!(self.strategy, Strategy::Exhaustive | Strategy::Dpor | Strategy::Strict) {
            return None;
        }
        let part = |frontier| SearchState { frontier, ..SearchState::new(self.strategy) };
        Some(self.frontier.split(parts).into_iter().map(part).collect())
    }

    /// Takes back a part that has nothing left to run. There may be more to do now.
    pub fn rejoin(&mut self, part: &SearchState) {
        self.counts.add(&part.counts);
        self.frontier.rejoin(&part.frontier);
        self.done = self.frontier.is_done();
    }

    /// Some parts have not come back.
    pub fn set_incomplete(&mut self) {
        self.done = false;
    }

    /// How many executions the subtrees that are left are guessed to have ([`Search::weigh`]); one each if nobody has guessed.
    pub fn weight(&self) -> f64 {
        self.frontier.weight()
    }

    /// Whether nothing that is left is too heavy for one of this many parts.
    pub fn is_even(&self, parts: usize) -> bool {
        let frontier = &self.frontier;
        frontier.branches() >= SUBTREES * parts
            && frontier.unweighed() == 0
            && frontier.heaviest() <= frontier.weight() / parts.max(1) as f64
    }

    /// How many subtrees are known to be left.
    pub fn branches_left(&self) -> usize {
        self.frontier.branches()
    }

    /// Schedules that lead to subtrees that are left, at most this many, evenly spread.
    pub fn branches(&self, most: usize) -> Vec<Vec<crate::Step>> {
        self.frontier.paths(most)
    }
}

/// The bound that is explored after this one, if `most` is the last. Executions of a smaller bound are run again with a
/// larger one, so those that are not small are some way apart: most, most / 2, most / 4, …
fn after(bound: u32, most: u32) -> u32 {
    let mut next = most;
    while bound >= 2 && next / 2 > bound {
        next /= 2;
    }
    if bound < 2 { bound + 1 } else { next }
}

/// Orders of executions drawn at random in one round, if all are of the same size.
const ORDERS: u64 = 16;

/// Lets workers run a program as its [`SearchState`] says.
pub struct Search<W> {
    state: SearchState,
    workers: Vec<W>,
    max_executions: u64,
    /// The same of runs, whatever came of them.
    max_runs: u64,
    estimated: Instant,
    /// The state is that of a search of another program.
    foreign: bool,
}

/// Subtrees for each part of a search: many, so that sizes even out.
const SUBTREES: usize = 8;
/// Random walks to weigh the subtrees of a search, about, and for one of them, at most.
const WALKS: u64 = 16_384;
const MOST_PROBES: u32 = 32;

/// How often the number of executions is guessed again, which part of the time that may take, and how many guesses are made at a time.
const EVERY: Duration = Duration::from_millis(200);
const PART: u32 = 50;
const PROBES: u32 = 16;
/// After fewer executions a search may be slow, but is not known to be large.
const MANY: u64 = 1000;

impl<W: Work + Send> Search<W> {
    /// A search that begins or continues at `state`. All workers, of which there is at least one, have the same program. After
    /// `max_executions` it is to stop; a systematic search may run a few more.
    ///
    /// # Panics
    ///
    /// If there is no worker.
    pub fn new(state: SearchState, workers: Vec<W>, max_executions: u64) -> Search<W> {
        assert!(!workers.is_empty(), "a search needs a worker");
        Search { state, workers, max_executions, max_runs: u64::MAX, estimated: Instant::now(), foreign: false }
    }

    /// Where the search is.
    pub fn state(&self) -> &SearchState {
        &self.state
    }

    /// Whether the state that it began with turned out to be that of a search of another program: it gets no further then.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// The workers. Whatever is done to them, they must answer orders as before.
    pub fn workers(&mut self) -> &mut [W] {
        &mut self.workers
    }

    /// Guesses again, if it is time to.
    fn probe(&mut self, mode: Mode, stop: &AtomicBool) {
        let counts = self.state.counts;
        let since = self.estimated.elapsed();
        if self.state.done || counts.runs() < MANY || since < EVERY {
            return;
        }
        let (began, mut seed) = (Instant::now(), counts.events);
        while began.elapsed() < since / PART && !stop.load(Ordering::Relaxed) {
            let order = Order::Probe { mode, seed, probes: PROBES };
            let Answer::Probed(guesses) = self.workers[0].work(&order, stop) else { break };
            guesses.into_iter().for_each(|guess| self.state.estimate.add(guess));
            seed = seed.wrapping_add(1);
        }
        self.estimated = Instant::now();
    }

    /// The workers, for another search.
    pub fn into_workers(self) -> Vec<W> {
        self.workers
    }

    /// Runs one round, which takes milliseconds, and hands over what was seen, in an order that does not depend on the
    /// number of workers. After `stop` is set a round ends as soon as it can, and nothing is lost.
    pub fn advance(&mut self, stop: &AtomicBool, mut seen: impl FnMut(W::Part)) {
        match self.state.strategy {
            Strategy::Exhaustive => self.search(Mode::Exhaustive, tree::ROUND, stop, &mut seen),
            Strategy::Dpor | Strategy::Strict => {
                let mode = Mode::Dpor { strict: self.state.strategy == Strategy::Strict };
                self.search(mode, tree::ROUND, stop, &mut seen);
                self.probe(mode, stop);
            }
            Strategy::Graphs { model, races, bytes } => self.graphs((model, races, bytes), stop, &mut seen),
            Strategy::Bounded { preemptions } => {
                let mode = Mode::Bounded { bound: self.state.bound, seen: self.state.seen };
                let before = self.state.counts;
                self.search(mode, tree::ROUND, stop, &mut seen);
                self.state.bounded |= self.state.counts.bounded;
                self.state.counts.bounded = false;
                debug_assert!(self.state.counts.executions >= before.executions);
                if self.state.done && self.state.bounded && self.state.bound < preemptions {
                    self.state.seen = Some(self.state.bound);
                    self.state.bound = after(self.state.bound, preemptions);
                    self.state.bounded = false;
                    self.state.done = false;
                    self.state.frontier = Frontier::new();
                }
            }
            Strategy::Random { executions, seed } => self.draw(Choice::Random, executions, seed, stop, &mut seen),
            Strategy::Pct { executions, seed, depth } => {
                let choice = Choice::Pct { depth, steps: self.state.steps };
                self.draw(choice, executions, seed, stop, &mut seen);
            }
        }
    }

    /// The same, but shallow subtrees first and few executions of each, then heavy ones: what is left is cut until it can be split
    /// into this many parts of similar size ([`SearchState::is_even`]).
    pub fn widen(&mut self, parts: usize, stop: &AtomicBool, mut seen: impl FnMut(W::Part)) {
        const EXECUTIONS: u64 = 256;
        let Some(mode) = self.mode() else { return self.advance(stop, seen) };
        let mut most = tree::ROUND;
        if self.state.frontier.branches() < SUBTREES * parts {
            self.state.frontier.shallow_first();
        } else {
            self.weigh(true, stop);
            most = most.min(self.state.frontier.heavy_first(self.state.frontier.weight() / parts.max(1) as f64));
        }
        if most > 0 {
            let runs = self.max_runs;
            self.max_runs = runs.min(self.state.counts.runs() + EXECUTIONS);
            self.search(mode, most, stop, &mut seen);
            self.max_runs = runs;
        }
    }

    /// Guesses how many executions each subtree has that is left ([`SearchState::weight`]), and with `complete` begins those subtrees
    /// that would show only later (`tree/parts.rs`).
    pub fn weigh(&mut self, complete: bool, stop: &AtomicBool) {
        let Some(mode) = self.mode() else { return };
        let frontier = &mut self.state.frontier;
        let runs = if self.max_runs == u64::MAX { WALKS } else { self.max_runs / 4 };
        let probes = (runs / (frontier.unweighed() as u64).max(1)).clamp(1, u64::from(MOST_PROBES)) as u32;
        let (worker, mut seed) = (&mut self.workers[0], self.state.counts.events);
        let mut guess = |task: tree::Task, probes: u32| {
            seed += 1;
            match worker.work(&Order::Weigh { mode, task, seed, probes }, stop) {
                Answer::Probed(guesses) if !guesses.is_empty() => {
                    Some(guesses.iter().sum::<f64>() / guesses.len() as f64)
                }
                _ => None,
            }
        };
        frontier.weigh(|task| guess(task, probes));
        if complete && mode.is_dpor() {
            // Few walks could all be redundant.
            frontier.complete(|task| guess(task, MOST_PROBES));
        }
    }

    /// What the workers of a systematic search without bound do.
    fn mode(&self) -> Option<Mode> {
        match self.state.strategy {
            Strategy::Exhaustive => Some(Mode::Exhaustive),
            Strategy::Dpor => Some(Mode::Dpor { strict: false }),
            Strategy::Strict => Some(Mode::Dpor { strict: true }),
            _ => None,
        }
    }

    /// Stops after about this many runs, whatever came of them.
    pub fn limit_runs(&mut self, most: u64) {
        self.max_runs = most;
    }

    /// Has workers do the parts of a search of graphs that were left last. Which ones, and how much of each, does not depend on the
    /// number of workers.
    fn graphs(
        &mut self,
        (model, races, bytes): (GraphModel, bool, bool),
        stop: &AtomicBool,
        seen: &mut impl FnMut(W::Part),
    ) {
        // States are known to the one worker that has seen them.
        let parts = if bytes { 1 } else { 8 };
        let left = &mut self.state.graphs;
        let tasks = left.split_off(left.len().saturating_sub(parts));
        let budget = (self.state.counts.runs() / 4).clamp(64, 8000);
        let budget = budget.min(self.max_executions.saturating_sub(self.state.counts.executions).max(1));
        let order = |task| Order::Graphs { model, races, bytes, task, budget };
        let orders: Vec<Order> = tasks.into_iter().map(order).collect();
        let answers = tree::in_parallel(&mut self.workers, &orders, stop);
        for (order, answer) in orders.into_iter().zip(answers) {
            match (answer, order) {
                (Answer::Graphed(outcome), _) => {
                    self.state.counts.add(&outcome.counts);
                    self.state.graphs.extend(outcome.rest);
                    seen(outcome.part);
                }
                (_, Order::Graphs { task, .. }) => self.state.graphs.push(task),
                _ => {}
            }
        }
        self.state.done = self.state.graphs.is_empty();
    }

    fn search(&mut self, mode: Mode, most: usize, stop: &AtomicBool, seen: &mut impl FnMut(W::Part)) {
        let counts = &mut self.state.counts;
        let left = self.max_executions.saturating_sub(counts.executions + counts.dropped);
        let limits = (left.min(self.max_runs.saturating_sub(counts.runs())), most);
        self.foreign |= !tree::round(&mut self.state.frontier, &mut self.workers, mode, stop, limits, |more, part| {
            counts.add(more);
            seen(part);
        });
        self.state.done = self.state.frontier.is_done();
    }

    fn draw(&mut self, choice: Choice, executions: u64, seed: u64, stop: &AtomicBool, seen: &mut impl FnMut(W::Part)) {
        let from = self.state.drawn;
        // The first one is run alone: its length is what the others are planned with.
        let size = sample::order(from);
        let to = if from == 0 { executions.min(1) } else { executions.min(from.saturating_add(ORDERS * size)) };
        // The last ones are small, so that workers end together.
        let workers = self.workers.len() as u64;
        let wanted = |from: u64| ((to - from) / (2 * workers)).clamp(size / 8, size).min(to - from);
        let begins: Vec<u64> = std::iter::successors(Some(from), |&from| Some(from + wanted(from)))
            .take_while(|&from| from < to)
            .collect();
        let order = |&from: &u64| Order::Draw { choice, seed, from, to: from + wanted(from) };
        let orders: Vec<Order> = begins.iter().map(order).collect();
        let answers = tree::in_parallel(&mut self.workers, &orders, stop);
        for (from, answer) in begins.into_iter().zip(answers) {
            let Answer::Drawn(drawn) = answer else { break };
            if self.state.drawn == 0 {
                self.state.steps = drawn.steps;
            }
            self.state.drawn += drawn.counts.executions;
            self.state.counts.add(&drawn.counts);
            seen(drawn.part);
            // Interrupted, keep what is whole from the front.
            if drawn.counts.executions < wanted(from) {
                break;
            }
        }
        self.state.done = self.state.drawn >= executions;
    }
}

#[cfg(test)]
mod tests {
    use super::after;

    #[test]
    fn bounds_grow_to_the_last_one() {
        let all =
            |most: u32| std::iter::successors(Some(0), |&k| (k < most).then(|| after(k, most))).collect::<Vec<_>>();
        assert_eq!(all(0), [0]);
        assert_eq!(all(2), [0, 1, 2]);
        assert_eq!(all(3), [0, 1, 2, 3]);
        assert_eq!(all(9), [0, 1, 2, 4, 9]);
        assert_eq!(all(16), [0, 1, 2, 4, 8, 16]);
        assert!((0..200).all(|most| all(most).is_sorted() && all(most).last() == Some(&most)));
    }
}
