//! Memory consistency for people who write lock-free code, build processors, or define memory models.
//!
//! This crate is the `membar` command, and a facade over the libraries that it is made of:
//!
//! | module | holds |
//! |---|---|
//! | [`core`] | traces, models, verdicts, proofs: the vocabulary |
//! | [`trace`] | the text format: reading, precise errors, writing |
//! | [`model`] | the built-in models and the format of model files |
//! | [`check`] | decides whether a model allows a trace; shrinks; finds the read to blame |
//! | [`certify`] | re-checks every verdict, sharing nothing with the checker |
//! | [`litmus`] | litmus tests: parser and final states |
//! | [`monitor`] | finds TSO and PSO violations on sequentially consistent interleavings |
//! | [`hardware`] | runs random programs and litmus tests on this machine's cores |
//! | [`explore`] | explores the executions of programs |
//! | [`verify`] | finds out whether programs stay sequentially consistent |
//! | `native` | C and C++ programs: compiled, run and named (x86-64 Linux) |
//! | [`report`] | results as text, JSON, SARIF and pages |
//! | [`stress`] | random programs, and simulated machines that run them |
//!
//! # Example
//!
//! Two threads each store and then load what the other stores; both miss the other's store. Total Store Order allows
//! that, sequential consistency does not:
//!
//! ```
//! use membar::{Certifier, Checker, Limits, Verdict};
//!
//! let text = b"0: x := 1\n0: y == 0\n1: y := 1\n1: x == 0\ncheck\n";
//! let traces = membar::trace::parse("store-buffering", text)?;
//!
//! let (mut checker, mut certifier) = (Checker::new(), Certifier::new());
//! for (name, expected) in [("tso", "allowed"), ("sc", "forbidden")] {
//!     let model = membar::model::load(name)?;
//!     let outcome = checker.check(&traces[0], &model, &Limits::default());
//!     assert_eq!(outcome.verdict.name(), expected);
//!     certifier.verdict(&traces[0], &model, &outcome.verdict)?;
//!     if let Verdict::Allowed(witness) = outcome.verdict {
//!         assert_eq!(witness.order.len(), 4); // a memory order of all four operations
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Files with many traces are read one trace at a time with [`Reader`]; a [`Checker`] and a [`Certifier`] keep their
//! buffers from one to the next.

pub use membar_certify as certify;
pub use membar_check as check;
pub use membar_core as core;
pub use membar_explore as explore;
pub use membar_hardware as hardware;
pub use membar_litmus as litmus;
pub use membar_model as model;
pub use membar_monitor as monitor;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use membar_native as native;
pub use membar_report as report;
pub use membar_stress as stress;
pub use membar_trace as trace;
pub use membar_verify as verify;

pub use membar_certify::Certifier;
pub use membar_check::{Checker, Limits, Outcome};
pub use membar_core::{Model, Proof, Trace, Verdict, Witness};
pub use membar_report::Report;
pub use membar_trace::Reader;
