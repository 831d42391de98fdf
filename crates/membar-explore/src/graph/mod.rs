//! Executions of a memory model itself: each consistent execution graph of a program, once.
//!
//! [`search`] has the algorithm, [`models`] what is consistent, [`graph`] the data. The program is run along: its threads get the
//! values that the graph says, stale ones included ([`crate::Program::step_finding`]).

#[allow(clippy::module_inception)] // the graph itself, among what is done with it
mod graph;
mod models;
mod search;

pub use search::{GraphOutcome, GraphTask, Graphs};
