//! Random programs and the simulated machines that run them.
//!
//! A [`Workload`] is the size, mix and seed of a random racy program in which every write has a value of its own.
//! [`simulate`] runs it on a [`Machine`] that obeys SC, TSO or PSO by construction and records a
//! [`Trace`](membar_core::Trace): a trace that the model allows, of any size, at about ten million operations a second.
//! [`corrupt`] then changes one read, which is what a bug in a cache or in a store buffer looks like from outside.
//!
//! ```
//! use membar_stress::{Machine, Mix, Observe, Workload, corrupt, simulate};
//!
//! let work = Workload { threads: 4, addresses: 16, ops: 10_000, mix: Mix::PAPER, seed: 1 };
//! let trace = simulate(&work, Machine::Tso, Observe::default());
//! let wrong = corrupt(&trace, 2).unwrap();
//! assert_eq!(wrong.trace.len(), trace.len());
//! assert_ne!(wrong.trace.read(wrong.op), trace.read(wrong.op));
//! ```
//!
//! Everything is a function of its seed: the same seed gives the same trace on every machine.
//!
//! | to get | use |
//! |---|---|
//! | a large allowed trace | [`simulate`], with [`Observe`] for write orders and final values |
//! | a program of your own on a machine | [`Program`] and [`run`] |
//! | a large trace with one wrong value | [`corrupt`] |
//! | a long SC interleaving as text | [`interleaving()`] |
//! | a small trace near the border of what is allowed | [`small`] with [`Small`] for what it may hold |
//! | a trace from the literature | [`figures`] |
//!
//! Simulated machines are stronger than their models allow in two ways: buffers hold at most eight stores, and a
//! partial barrier with `#StoreLoad` stops the whole thread. So not every allowed trace can come out of them.

mod corrupt;
mod cycle;
pub mod figures;
mod interleaving;
mod machine;
mod small;
pub mod synchronized;
mod workload;

pub use corrupt::{Corrupted, corrupt};
pub use interleaving::interleaving;
pub use machine::{Machine, Observe, run, simulate};
pub use membar_core::Rng;
pub use small::{Small, small};
pub use workload::{Instr, Mix, Program, Workload};
