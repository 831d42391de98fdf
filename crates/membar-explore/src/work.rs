//! The workers of a search: a worker is given one order after the other and answers each.
//!
//! # Problem
//!
//! A search knows what is left to run; workers have the program. A worker may be of this process ([`Local`]) or stand for
//! another one, where the program is: everything that passes between the two can be written down.
//!
//! # Invariants
//!
//! The answer to an order depends on the order alone (and on `stop`), not on what the worker has done before, but for states that
//! [`Buffers`] knows already. So it does not
//! matter which worker gets an order, nor whether a worker had to be replaced.
//!
//! # Complexity
//!
//! An order takes a worker milliseconds, unless executions are very long: the cost of passing it on hardly shows.

use crate::buffers::Buffers;
use crate::graph::{GraphOutcome, GraphTask, Graphs};
use crate::node::Node;
use crate::sample::{Choice, Drawn, Sampler};
use crate::set::{Many, Set};
use crate::tree::Task;
use crate::worker::{Mode, Outcome, Worker};
use crate::{Observer, Program};
use membar_core::GraphModel;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;

/// The order for a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)] // one at a time for each worker
pub enum Order {
    /// Look at the program's first state.
    Begin {
        /// Which schedules are wanted.
        mode: Mode,
    },
    /// Run a subtree.
    Run {
        /// Which schedules are wanted.
        mode: Mode,
        /// The subtree.
        task: Task,
        /// Executions after which what is left is handed back.
        budget: u64,
    },
    /// Run a part of the executions of a memory model.
    Graphs {
        /// The model.
        #[serde(with = "crate::explore::model")]
        model: GraphModel,
        /// Whether data races are looked for.
        races: bool,
        /// Whether bytes are told apart.
        bytes: bool,
        /// The part.
        task: GraphTask,
        /// Executions after which what is left is handed back.
        budget: u64,
    },
    /// Guess how many executions there are.
    Probe {
        /// Of which schedules.
        mode: Mode,
        /// Where the random numbers begin.
        seed: u64,
        /// How many guesses to make.
        probes: u32,
    },
    /// Guess how many executions a subtree has.
    Weigh {
        /// Which schedules are wanted.
        mode: Mode,
        /// The subtree.
        task: Task,
        /// Where the random numbers begin.
        seed: u64,
        /// How many guesses to make.
        probes: u32,
    },
    /// Run executions chosen at random.
    Draw {
        /// How they are chosen.
        choice: Choice,
        /// Where the random numbers begin.
        seed: u64,
        /// The number of the first one,
        from: u64,
        /// and of the first one that is not wanted.
        to: u64,
    },
}

/// The result of an [`Order`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer<T> {
    /// Of [`Order::Begin`]: the first state, or the outcome of a program in which no thread can run.
    Begun(Result<Node, Outcome<T>>),
    /// Of [`Order::Run`].
    Ran(Outcome<T>),
    /// Of [`Order::Graphs`].
    Graphed(GraphOutcome<T>),
    /// Of [`Order::Probe`] and [`Order::Weigh`]: the guesses ([`crate::Estimate`]).
    Probed(Vec<f64>),
    /// Of [`Order::Draw`]: one after the other from the first; not all if the worker was stopped, or has seen enough.
    Drawn(Drawn<T>),
    /// Of [`Order::Run`]: nothing, since the program has no such subtree.
    Foreign,
    /// Nothing: the worker could not do it. The order will be given again, to the next worker; a worker that will never
    /// be able to do it has to tell its owner, who can reach it by [`crate::Search::workers`].
    Undone,
}

/// Does what it is told.
pub trait Work {
    /// The observations made on the way.
    type Part: Send;

    /// Carries out an order. After `stop` is set it ends as soon as it can, with an answer that is whole.
    fn work(&mut self, order: &Order, stop: &AtomicBool) -> Answer<Self::Part>;
}

/// A worker of this process: runs a program and shows it to an observer.
pub struct Local<P, O> {
    state: State<P, O>,
    max_steps: usize,
}

enum State<P, O> {
    /// The program is at its beginning.
    Idle(P, O),
    /// It has no more threads than a word has bits.
    Few(Running<P, O, u64>),
    Many(Running<P, O, Many>),
    /// While one becomes another.
    Between,
}

/// A program that is being run.
enum Running<P, O, S> {
    Tree(Box<Worker<P, O, S>>),
    Graphs(Box<Graphs<P, O>>),
    Buffers(Box<Buffers<P, O>>),
    Sample(Sampler<P, O, S>),
}

impl<P: Program, O: Observer, S: Set> Running<P, O, S> {
    /// For such orders.
    fn new(order: &Order, program: P, observer: O, max_steps: usize) -> Running<P, O, S> {
        match order {
            Order::Begin { mode } | Order::Run { mode, .. } | Order::Probe { mode, .. } | Order::Weigh { mode, .. } => {
                Running::Tree(Box::new(Worker::new(program, observer, *mode, max_steps)))
            }
            Order::Graphs { model, races, bytes, .. } => match model.machine().filter(|_| *bytes) {
                Some(machine) => Running::Buffers(Box::new(Buffers::new(program, observer, machine, max_steps))),
                None => Running::Graphs(Box::new(Graphs::new(program, observer, *model, *races, max_steps))),
            },
            Order::Draw { .. } => Running::Sample(Sampler::new(program, observer, max_steps)),
        }
    }

    /// Whether it can do what the order says.
    fn fits(&self, order: &Order) -> bool {
        let fits = match (self, order) {
            (
                Running::Tree(worker),
                Order::Begin { mode } | Order::Run { mode, .. } | Order::Probe { mode, .. } | Order::Weigh { mode, .. },
            ) => worker.mode() == *mode,
            (Running::Buffers(buffers), Order::Graphs { model, bytes, .. }) => *bytes && buffers.is_for(*model),
            (Running::Graphs(graphs), Order::Graphs { model, races, bytes, .. }) => {
                (!bytes || model.machine().is_none()) && graphs.is_for(*model, *races)
            }
            (Running::Sample(_), Order::Draw { .. }) => true,
            _ => false,
        };
        fits && self.program().threads() <= S::MOST
    }

    fn work(&mut self, order: &Order, stop: &AtomicBool) -> Answer<O::Part> {
        match (self, order) {
            (Running::Tree(worker), Order::Begin { .. }) => Answer::Begun(worker.begin().map_err(|outcome| *outcome)),
            (Running::Tree(worker), Order::Probe { seed, probes, .. }) => {
                Answer::Probed(worker.probe(*seed, *probes, stop))
            }
            (Running::Tree(worker), Order::Weigh { task, seed, probes, .. }) => {
                Answer::Probed(worker.weigh(task, *seed, *probes, stop))
            }
            (Running::Tree(worker), Order::Run { task, budget, .. }) => {
                worker.run(task, *budget, stop).map_or(Answer::Foreign, Answer::Ran)
            }
            (Running::Graphs(graphs), Order::Graphs { task, budget, .. }) => {
                Answer::Graphed(graphs.run(task, *budget, stop))
            }
            (Running::Buffers(buffers), Order::Graphs { task, budget, .. }) => {
                Answer::Graphed(buffers.run(task, *budget, stop))
            }
            (Running::Sample(sampler), Order::Draw { choice, seed, from, to }) => {
                Answer::Drawn(sampler.draw(*choice, *seed, *from..*to, stop))
            }
            _ => Answer::Undone,
        }
    }

    fn program(&self) -> &P {
        match self {
            Running::Tree(worker) => worker.program(),
            Running::Graphs(graphs) => graphs.program(),
            Running::Buffers(buffers) => buffers.program(),
            Running::Sample(sampler) => sampler.program(),
        }
    }

    fn into_parts(self) -> (P, O) {
        match self {
            Running::Tree(worker) => worker.into_parts(),
            Running::Graphs(graphs) => graphs.into_parts(),
            Running::Buffers(buffers) => buffers.into_parts(),
            Running::Sample(sampler) => sampler.into_parts(),
        }
    }
}

impl<P: Program, O: Observer> Local<P, O> {
    /// A worker with a program at its beginning. A thread is not run any further after `max_steps` steps; then the execution
    /// counts as cut.
    pub fn new(program: P, observer: O, max_steps: usize) -> Local<P, O> {
        Local { state: State::Idle(program, observer), max_steps }
    }

    /// The program, at its beginning, and the observer.
    pub fn into_parts(self) -> (P, O) {
        match self.state {
            State::Idle(program, observer) => (program, observer),
            State::Few(running) => running.into_parts(),
            State::Many(running) => running.into_parts(),
            State::Between => unreachable!("only inside a call"),
        }
    }

    /// The program, wherever it is.
    pub fn program(&self) -> &P {
        match &self.state {
            State::Idle(program, _) => program,
            State::Few(running) => running.program(),
            State::Many(running) => running.program(),
            State::Between => unreachable!("only inside a call"),
        }
    }

    /// Becomes a worker that can carry out the order.
    fn become_fit(&mut self, order: &Order) {
        let state = std::mem::replace(&mut self.state, State::Between);
        let max_steps = self.max_steps;
        let (program, observer) = Local { state, max_steps }.into_parts();
        self.state = if program.threads() <= <u64 as Set>::MOST {
            State::Few(Running::new(order, program, observer, max_steps))
        } else {
            State::Many(Running::new(order, program, observer, max_steps))
        };
    }
}

impl<P: Program, O: Observer> Work for Local<P, O> {
    type Part = O::Part;

    fn work(&mut self, order: &Order, stop: &AtomicBool) -> Answer<O::Part> {
        let fits = match &self.state {
            State::Few(running) => running.fits(order),
            State::Many(running) => running.fits(order),
            State::Idle(..) | State::Between => false,
        };
        if !fits {
            self.become_fit(order);
        }
        match &mut self.state {
            State::Few(running) => running.work(order, stop),
            State::Many(running) => running.work(order, stop),
            State::Idle(..) | State::Between => unreachable!("fit for the order"),
        }
    }
}
