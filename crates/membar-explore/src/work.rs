//! Who does the work of a search: one after the other, a worker is given an order and answers it.
//!
//! # Problem
//!
//! A search knows what is left to run; workers have the program. A worker may be of this process ([`Local`]) or stand for
//! another one, where the program is: everything that passes between the two can be written down.
//!
//! # Invariants
//!
//! The answer to an order depends on the order alone (and on `stop`), not on what the worker has done before. So it does not
//! matter which worker gets an order, nor whether a worker had to be replaced.
//!
//! # Complexity
//!
//! An order takes a worker milliseconds, unless executions are very long: what it costs to pass it on hardly shows.

use crate::sample::{Choice, Drawn, Sampler};
use crate::tree::Task;
use crate::worker::{Mode, Node, Outcome, Worker};
use crate::{Observer, Program};
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;

/// What a worker is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
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

/// What comes of an [`Order`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer<T> {
    /// Of [`Order::Begin`]: the first state, or what comes of a program in which nobody can run.
    Begun(Result<Node, Outcome<T>>),
    /// Of [`Order::Run`].
    Ran(Outcome<T>),
    /// Of [`Order::Draw`]: one after the other from the first; not all if the worker was stopped, or has seen enough.
    Drawn(Drawn<T>),
    /// Nothing: the worker could not do it. The order will be given again, to whoever comes next; a worker that will never
    /// be able to do it has to tell its owner, who can reach it by [`crate::Search::workers`].
    Undone,
}

/// Does what it is told.
pub trait Work {
    /// What is seen on the way.
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
    Tree(Box<Worker<P, O>>),
    Sample(Sampler<P, O>),
    /// While one becomes another.
    Between,
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
            State::Tree(worker) => worker.into_parts(),
            State::Sample(sampler) => sampler.into_parts(),
            State::Between => unreachable!("only inside a call"),
        }
    }

    /// The program, wherever it is.
    pub fn program(&self) -> &P {
        match &self.state {
            State::Idle(program, _) => program,
            State::Tree(worker) => worker.program(),
            State::Sample(sampler) => sampler.program(),
            State::Between => unreachable!("only inside a call"),
        }
    }

    /// The program and the observer, and nothing in their place.
    fn parts(&mut self) -> (P, O) {
        let state = std::mem::replace(&mut self.state, State::Between);
        Local { state, max_steps: self.max_steps }.into_parts()
    }

    fn worker(&mut self, mode: Mode) -> &mut Worker<P, O> {
        if !matches!(&self.state, State::Tree(worker) if worker.mode() == mode) {
            let (program, observer) = self.parts();
            self.state = State::Tree(Box::new(Worker::new(program, observer, mode, self.max_steps)));
        }
        let State::Tree(worker) = &mut self.state else { unreachable!("just made") };
        worker
    }

    fn sampler(&mut self) -> &mut Sampler<P, O> {
        if !matches!(self.state, State::Sample(_)) {
            let (program, observer) = self.parts();
            self.state = State::Sample(Sampler::new(program, observer, self.max_steps));
        }
        let State::Sample(sampler) = &mut self.state else { unreachable!("just made") };
        sampler
    }
}

impl<P: Program, O: Observer> Work for Local<P, O> {
    type Part = O::Part;

    fn work(&mut self, order: &Order, stop: &AtomicBool) -> Answer<O::Part> {
        match order {
            Order::Begin { mode } => Answer::Begun(self.worker(*mode).begin()),
            Order::Run { mode, task, budget } => Answer::Ran(self.worker(*mode).run(task, *budget, stop)),
            Order::Draw { choice, seed, from, to } => {
                Answer::Drawn(self.sampler().draw(*choice, *seed, *from..*to, stop))
            }
        }
    }
}
