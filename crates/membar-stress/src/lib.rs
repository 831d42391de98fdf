//! Runs random programs and litmus tests on this machine's cores.
//!
//! A [`membar_simulate::Program`] becomes code for each of its threads ([`Compiled`]): machine code on x86-64 Linux, a list of operations for an
//! interpreter with atomics elsewhere ([`Engine`]). A [`Runner`] has a thread for each, pinned to a core; it starts them together
//! and collects what they read. A [`membar_litmus::LitmusTest`] runs millions of times on arrays of its variables ([`litmus`]).
//!
//! ```
//! use membar_stress::{Runner, Settings};
//! use membar_simulate::{Observe, profile};
//!
//! let program = profile::load("default").unwrap().program(1).unwrap();
//! let mut runner = Runner::new(Settings::default())?;
//! let run = runner.run(&program, 2)?;
//! let trace = run.trace(&program, Observe::default()).unwrap();
//! assert_eq!(trace.len(), program.operations());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `runner` | pinned threads, and a program's run on them |
//! | `codegen` | programs as code: `x86_64` for the processor, `portable` for atomics; what they log |
//! | `litmus` | litmus tests: batches, their tuning, histograms; `litmus/x86_64` and `litmus/portable` are their code |
//! | `cores`, `clock`, `barrier`, `memory` | available cores, clock offsets, starting together, buffers |
//!
//! Unsafe code is confined to four things: system calls about cores, reading the time-stamp counter, buffers that
//! several threads write, and calls of generated code.

mod barrier;
mod clock;
mod codegen;
mod cores;
mod error;
pub mod litmus;
mod memory;
mod pool;
mod runner;

pub use clock::{Offset, Offsets};
pub use codegen::{Compiled, Engine, Timestamps};
pub use cores::Cores;
pub use error::Error;
pub use runner::{Recorded, Runner, Settings};
