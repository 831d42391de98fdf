//! Slow and obvious decision procedures, to compare the fast ones with, and inputs to compare them on. Only tests and benchmarks use it.
//!
//! # Traces
//!
//! Five answers to "does the model allow this trace?", none of which shares code with the checker:
//!
//! * [`machine`]: exhaustive search over the states of an abstract machine (SC, TSO, PSO, WMO) that has to reproduce
//!   the recorded values. This is what the models mean to a hardware designer.
//! * [`orders`]: exhaustive search over memory orders, for any [`Model`](membar_core::Model), with time; and [`location`]
//!   where memory order is partial. This is what the models mean on paper.
//! * [`riscv`]: exhaustive search over memory orders, for RVWMO and Ztso as the manual words them, without a table.
//! * [`frontier`]: the algorithms of Lv and others (2014), who search over write orders and session orders instead,
//!   without and with time. They take traces of any length.
//! * [`fixpoint`]: the rules R1 to R7 of Manovit and Hangal (SPAA 2005) with an explicit transitive closure. It refutes
//!   or leaves open: the strength that a fast checker must have before it searches.
//!
//! The first two have nothing in common and agree on every trace of their tests, which is the reason to trust either.
//! The last two take from the second which pairs of a thread stay in order. Frontiers must agree with it, the fixed point must
//! never refute what it allows.
//!
//! ```
//! use membar_core::{Model, Ppo, ResolveScratch, Trace, When};
//! use membar_testkit::{Machine, frontier, frontier::Algorithm, machine, orders};
//!
//! // Two threads store to one address and load the other; both loads miss the other thread's store.
//! let mut trace = Trace::new();
//! trace.clear(1);
//! let (p, q, x, y) = (trace.thread_id(0), trace.thread_id(1), trace.named_id("x"), trace.named_id("y"));
//! trace.push_store(p, x, 1, 1);
//! trace.push_load(p, y, 0, 2);
//! trace.push_store(q, y, 1, 3);
//! trace.push_load(q, x, 0, 4);
//! trace.resolve(&mut ResolveScratch::default()).unwrap();
//!
//! assert!(!machine::decide(&trace, Machine::Sc));
//! assert!(machine::decide(&trace, Machine::Tso));
//!
//! let tso = Model::new("tso", Ppo::new(When::ALWAYS, When::ALWAYS, When::NEVER, When::ALWAYS));
//! assert!(orders::decide(&trace, &tso));
//! assert!(frontier::decide(&trace, &tso, Algorithm::Baseline));
//! ```
//!
//! | to get | use |
//! |---|---|
//! | a small trace near the border of what is allowed | [`small`](small()) with [`Small`] for what it may hold |
//! | a small trace with locks and barriers | [`synchronized`] |
//! | a large trace with one wrong value | [`corrupt`](corrupt()) |
//! | a long SC interleaving as text | [`interleaving`](interleaving()) |
//! | a trace from the literature | [`figures`] |
//!
//! # Programs
//!
//! [`programs`] answers for whole programs instead of traces: all executions of a [`Code`](membar_litmus::Code) on the
//! machines with store buffers, whether one of them is not sequentially consistent, all final states, and how many
//! sequentially consistent interleavings and classes there are. [`graphs`] counts all execution graphs of a program under a
//! model, from its axioms; [`rc11`] has the axioms of C11, and data races. [`named`] has the well-known programs, [`random`]
//! the others, and [`builder`] writes both. [`weak`] has the executions that somebody else allows.
//!
//! ```
//! use membar_core::Barrier;
//! use membar_testkit::{named, programs, programs::{Limits, Memory}};
//!
//! let code = named::store_buffering([Barrier::None; 2]);
//! assert_eq!(programs::violations(&code, Memory::Tso, &Limits::default()), Some(true));
//! assert_eq!(programs::classes(&code, &Limits::default()).unwrap().classes.len(), 3);
//! ```
//!
//! Time and memory are exponential: traces and programs of a dozen operations take microseconds to milliseconds. The
//! deciders of traces take at most 64 operations, frontiers excepted.

pub mod builder;
pub mod bytes;
mod corrupt;
mod cycle;
pub mod figures;
pub mod fixpoint;
pub mod frontier;
pub mod graphs;
mod interleaving;
pub mod location;
pub mod machine;
pub mod named;
pub mod orders;
pub mod programs;
pub mod random;
pub mod rc11;
pub mod relaxed;
mod repository;
pub mod riscv;
pub mod shorthand;
pub mod sized;
mod small;
pub mod synchronized;
pub mod weak;
mod wmo;

pub use corrupt::{Corrupted, corrupt, rebuilt};
pub use fixpoint::Outcome;
pub use interleaving::interleaving;
pub use machine::Machine;
pub use repository::litmus_tests;
pub use small::{Small, small};
