//! Random programs and the simulated machines that run them.
//!
//! A [`Profile`] says what kind of racy program to write (how many threads, which mix, who shares what); with a seed it becomes a
//! [`Program`] in which every write has its own value. A machine runs it: one of this crate's ([`machines`]), each of which
//! obeys a memory model by construction unless one of its bugs is switched on, or a real one. The values read are a [`Record`], their times
//! [`Times`], and [`trace()`] makes a [`Trace`](membar_core::Trace) of them.
//!
//! ```
//! use membar_simulate::{Machine, Observe, profile, sampled, trace};
//!
//! let program = profile::load("producer-consumer").unwrap().program(1).unwrap();
//! let run = Machine::Tso.run(&program, 2);
//! let scans = sampled(&run.times, 600); // what a scan of counters every 600 cycles shows
//! let trace = trace(&program, &run.record, Some(&scans), Observe::default()).unwrap();
//! assert_eq!(trace.len(), program.operations());
//! ```
//!
//! Everything is a function of its seed: the same seed gives the same trace on every machine.
//!
//! | to get | use |
//! |---|---|
//! | a random program | [`profile::load`] and [`Profile::program`] |
//! | your own program | [`ProgramBuilder`] |
//! | its run on a machine, with or without bugs | [`Machine::run`], [`Setup::run`] |
//! | a trace of results from elsewhere | [`Record::new`] and [`trace()`] |
//! | a large allowed trace in one line | [`simulate`] with [`Workload`], and [`Observe`] for write orders and final values |
//!
//! Simulated machines are stronger than their models allow: buffers and windows are small, and some barriers wait for more than
//! they must. So they cannot produce every allowed trace.

mod generate;
pub mod machines;
pub mod profile;
mod program;
mod record;
mod workload;

pub use machines::{Buffer, Bug, Machine, Setup, simulate};
pub use membar_core::Rng;
pub use profile::{Profile, ProfileError, Shares, Sharing};
pub use program::{Bytes, DependsOn, Instr, MOST_INSTRUCTIONS, Program, ProgramBuilder, ProgramError};
pub use record::{Observe, Record, Run, Times, run_seed, sampled, trace, unresolved};
pub use workload::{Mix, Workload};
