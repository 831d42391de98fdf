//! Slow and obvious deciders, to compare the fast ones with.
//!
//! Three answers to "does the model allow this trace?", none of which shares code with the checker:
//!
//! * [`machine`]: exhaustive search over the states of an abstract machine (SC, TSO, PSO, WMO) that has to reproduce
//!   the recorded values. This is what the models mean to a hardware designer.
//! * [`orders`]: exhaustive search over memory orders, for any [`Model`](membar_core::Model). This is what the models
//!   mean on paper.
//! * [`fixpoint`]: the rules R1 to R7 of Manovit and Hangal (SPAA 2005) with an explicit transitive closure. It refutes
//!   or leaves open: the strength that a fast checker must have before it searches.
//!
//! The first two have nothing in common and agree on every trace of their tests, which is the reason to trust either.
//! The third takes from the second which pairs of a thread stay in order, and must never refute what that allows.
//!
//! ```
//! use membar_core::{Mask, Model, Ppo, ResolveScratch, Trace, When};
//! use membar_oracle::{Machine, machine, orders};
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
//! let tso = Model {
//!     name: "tso".into(),
//!     title: String::new(),
//!     about: String::new(),
//!     ppo: Ppo {
//!         load_load: When::ALWAYS,
//!         load_store: When::ALWAYS,
//!         store_load: When::NEVER,
//!         store_store: When::ALWAYS,
//!     },
//!     sync: Mask::FULL,
//!     store_forwarding: true,
//!     coherence: true,
//!     lock_exclusion: true,
//! };
//! assert!(orders::decide(&trace, &tso));
//! ```
//!
//! # Programs
//!
//! [`programs`] answers for whole programs instead of traces: all executions of a [`Code`](membar_litmus::Code) on the
//! machines with store buffers, whether one of them is not sequentially consistent, all final states, and how many
//! sequentially consistent interleavings and classes there are. [`named`] has the well-known programs, [`random`] the
//! others, and [`builder`] writes both.
//!
//! ```
//! use membar_core::Barrier;
//! use membar_oracle::{named, programs, programs::{Limits, Memory}};
//!
//! let code = named::store_buffering([Barrier::None; 2]);
//! assert_eq!(programs::violations(&code, Memory::Tso, &Limits::default()), Some(true));
//! assert_eq!(programs::classes(&code, &Limits::default()).unwrap().classes.len(), 3);
//! ```
//!
//! Time and memory are exponential: traces and programs of a dozen operations take microseconds to milliseconds. The
//! deciders of traces take at most 64 operations.

pub mod builder;
pub mod fixpoint;
pub mod machine;
pub mod named;
pub mod orders;
pub mod programs;
pub mod random;
mod wmo;

pub use fixpoint::Outcome;
pub use machine::Machine;
