//! Executions of a memory model itself: each consistent execution graph of a program, once.
//!
//! [`search`] has the algorithm. Of its parts, [`frame`] has the alternatives and their order, [`reads`] and [`writes`]
//! those of an event, [`awaits`] accesses that block, [`revisit`] what a write does to reads that came before it,
//! [`along`] the program that is run along, [`tell`] what the observer is told. [`models`] says which graphs are
//! consistent; [`graph`] is the data.

mod along;
mod awaits;
mod frame;
#[allow(clippy::module_inception)] // the graph itself, among what is done with it
mod graph;
mod models;
mod reads;
mod revisit;
mod search;
mod tell;
mod writes;

pub use frame::{GraphOutcome, GraphTask};
pub use search::Graphs;
