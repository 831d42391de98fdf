//! Monitors that find violations of sequential consistency under TSO, PSO and C11, and data races, on sequentially consistent executions.
//!
//! A program that stays sequentially consistent on a machine with store buffers can be understood as if there were
//! none. Whether it does shows already on its SC executions: a monitor follows one, event by event, and reports where
//! a sibling of it under TSO or PSO is not SC. It says which store has to be delayed and which access then overtakes it.
//!
//! | monitor | for | module says |
//! |---|---|---|
//! | [`Tso`] | TSO | Burnim, Sen and Stergiou: runs the machine, commits late |
//! | [`Pso`] | PSO | the same with a buffer for each address |
//! | [`Sober::published`] | TSO | Burckhardt and Musuvathi, with their definition of TSO, which is too strict |
//! | [`Sober::fixed`] | TSO | the same with the standard definition |
//! | [`ClassMonitor`] | TSO and PSO | ours: the verdict depends on the happens-before class only |
//! | [`BytesMonitor`] | TSO and PSO | the same for accesses to parts of a word |
//! | [`C11Monitor`] | C11 | ours: robustness against RC11, and data races |
//!
//! The first four are [`Rule`]s over happens-before [`Clocks`]. [`Monitor`] is one rule with its clocks and can take events
//! back, for depth-first exploration; [`Monitors`] is any number of them over one set of clocks, for streams: memory depends on
//! the number of threads and addresses and not on the number of events. Further:
//!
//! - [`Witness`] writes down the TSO or PSO execution that a report stands for, step by step, with its commits;
//! - [`Window`] keeps recent events and finds the shortest happens-before cycle of a report, and where fences break it;
//! - [`Groups`] counts reports by the pair of instructions that causes them.
//!
//! Finding nothing on one interleaving says nothing about others: that is the explorer's job.

mod bytes;
pub mod c11;
mod class;
pub mod clocks;
pub mod cycle;
mod event;
mod groups;
mod monitor;
pub mod pso;
mod sets;
pub mod sober;
pub mod tso;
mod undo;
pub mod witness;

pub use bytes::{BytesMonitor, MAX_EVENTS, Placement};
pub use c11::C11Monitor;
pub use class::ClassMonitor;
pub use clocks::Clocks;
pub use cycle::{Cycle, Edge, Recorded, Window};
pub use event::{Algorithm, Event, NO_SITE, Op, Violation, Write};
pub use groups::{Group, Groups, Instruction};
pub use monitor::{Mark, Monitor, Monitors, Rule};
pub use pso::Pso;
pub use sets::{Growing, MAX_WRITES, Overtaken, TooLong};
pub use sober::Sober;
pub use tso::Tso;
pub use witness::{Witness, WitnessStep, witness};
