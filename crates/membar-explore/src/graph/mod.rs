//! Executions of a memory model itself: each consistent execution graph of a program, once.
//!
//! [`search`] has the algorithm, [`models`] what is consistent, [`graph`] the data. The program is run along: its threads get the
//! values that the graph says, stale ones included ([`Weak`]).

mod graph;
mod models;
mod search;

pub use search::{GraphOutcome, GraphTask, Graphs, Spectator};

use crate::Program;
use membar_core::Performed;

/// A program whose accesses find what they are told to, rather than what memory holds.
pub trait Weak: Program {
    /// The value of an address, all steps made so far done.
    fn memory(&mut self, addr: u32) -> u64;

    /// Makes the next access of a thread, which is no choice, as [`Program::step`] does, but as if its address held `found`. If `dead`, the
    /// object there has come to its end. [`Weak::leave`] has to follow.
    fn step_finding(&mut self, thread: usize, found: u64, dead: bool) -> Performed;

    /// After the last step, its address holds this.
    fn leave(&mut self, addr: u32, value: u64);

    /// What was explored does not count: the program has shown something new about itself.
    fn is_void(&self) -> bool {
        false
    }
}
