//! A toolkit for memory consistency, for people who write lock-free code, build processors, or define memory models.
//!
//! This crate is the `membar` command, and a facade over its libraries:
//!
//! | call | answers |
//! |---|---|
//! | [`decide`] | does a model allow this recorded execution? |
//! | [`verify()`] | what goes wrong in this program (a litmus test, C, C++ or Rust) under a memory model? |
//! | [`campaign()`] | does this machine do anything that its model forbids? |
//! | [`watch::monitor`] | could this interleaving have gone otherwise with store buffers? |
//!
//! Each has a section below, simple call first; the files in `examples/` of this crate do a little more. Users who need the parts
//! find them here:
//!
//! | module | holds |
//! |---|---|
//! | [`core`] | traces, models, verdicts, proofs: the vocabulary |
//! | [`trace`] | the text format: reading, precise errors, writing |
//! | [`model`] | the built-in models and the format of model files |
//! | [`check`] | decides whether a model allows a trace; shrinks; finds the impossible read |
//! | [`certify`] | re-checks every verdict, sharing no algorithm with the checker |
//! | [`litmus`] | litmus tests: parser and final states |
//! | [`monitor`] | finds violations of TSO, PSO and C11 on sequentially consistent interleavings |
//! | [`stress`] | runs random programs and litmus tests on this machine's cores |
//! | [`explore`] | explores the executions of programs |
//! | [`mod@verify`] | finds out whether programs stay sequentially consistent |
//! | `native` | C, C++ and Rust programs: compiled, run and named (x86-64 Linux) |
//! | [`report`] | results as text, JSON, SARIF and pages for a browser |
//! | [`simulate`] | random programs, and simulated machines that run them |
//! | [`programs`] | programs as [`verify()`] takes them |
//! | [`mod@campaign`] | campaigns, and what runs their programs |
//! | [`watch`] | monitors over recorded interleavings, with their reports |
//! | [`program`] | programs given as Rust code, to explore |
//!
//! # Check a trace
//!
//! Two threads each store and then load what the other stores; both miss the other's store. Total Store Order allows
//! that, sequential consistency does not. [`decide`] checks a trace and has the answer re-checked:
//!
//! ```
//! use membar::{Limits, Verdict, decide};
//!
//! let text = b"0: x := 1\n0: y == 0\n1: y := 1\n1: x == 0\ncheck\n";
//! let trace = membar::trace::parse("sb.trace", text)?.remove(0);
//! let (sc, tso) = (membar::model::load("sc")?, membar::model::load("tso")?);
//!
//! let allowed = decide(&trace, &tso, &Limits::default())?;
//! let Verdict::Allowed(witness) = &allowed.outcome.verdict else { panic!("{}", allowed.verdict()) };
//! assert_eq!(witness.order.len(), 4); // a memory order of all four operations
//!
//! let forbidden = decide(&trace, &sc, &Limits::default())?;
//! assert!(forbidden.text("sb.trace").starts_with("FORBIDDEN by sc"));
//! assert!(forbidden.json("sb.trace").contains("\"verdict\":\"forbidden\""));
//! assert!(forbidden.page("sb.trace").to_lowercase().starts_with("<!doctype html>"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Files with many traces are read one trace at a time with [`Reader`]; a [`Decider`] keeps its buffers from one to the
//! next.
//!
//! # Verify a program
//!
//! A litmus test, C or C++ sources, or an executable; the report has every violation with its execution, a separate checker's
//! word on it, and the fences that repair the program:
//!
//! ```
//! use membar::programs::Input;
//! use membar::{ProgramVerdict, VerifyOptions, verify};
//!
//! let text = "X86 SB\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";
//! let program = Input::Text { name: "SB.litmus".into(), text: text.into() };
//! let report = &verify(program, &VerifyOptions::default())?[0];
//! assert_eq!(report.verdict, ProgramVerdict::Unsafe);
//! assert_eq!(report.violations[0].fences.len(), 2); // one in each thread
//! # Ok::<(), membar::Failure>(())
//! ```
//!
//! For C and C++ programs the executable has to call [`serve_programs`] first: [`verify()`] says how.
//!
//! # Test a machine
//!
//! Random programs on a simulated machine with a bug, or on this machine's cores ([`campaign::Hardware`]); each result is
//! decided and certified, and what the model forbids is kept:
//!
//! ```
//! use membar::campaign::{Plan, Simulated};
//! use membar::simulate::{Machine, Setup};
//! use membar::{Chosen, Interrupt, VerdictKind, campaign};
//!
//! let machine = Simulated::new(Setup::from(Machine::MesiTso).with("stale-forward")?);
//! let directory = tempfile::tempdir()?;
//! let plan = Plan { tests: Some(100), output: directory.path().into(), ..Plan::new(Chosen::load("tso")?)? };
//! let found = campaign(&plan, &machine, &Interrupt::default(), &())?;
//! assert_eq!(found.verdict(), VerdictKind::Forbidden);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Certify a proof
//!
//! A [`Certifier`] trusts nothing. It accepts the checker's proof and refuses it when one step is changed:
//!
//! ```
//! use membar::{Certifier, Checker, Limits, Proof, Verdict};
//!
//! let text = b"0: x := 1\n0: y == 0\n1: y := 1\n1: x == 0\ncheck\n";
//! let trace = membar::trace::parse("sb.trace", text)?.remove(0);
//! let (sc, tso) = (membar::model::load("sc")?, membar::model::load("tso")?);
//! let Verdict::Forbidden(mut proof) = Checker::new().check(&trace, &sc, &Limits::default()).verdict else { panic!() };
//!
//! let mut certifier = Certifier::new();
//! certifier.proof(&trace, &sc, &proof)?;
//! assert!(certifier.proof(&trace, &tso, &proof).is_err()); // tso does not keep what the proof rests on
//! if let Proof::Cycle(lemmas) = &mut proof {
//!     let step = &mut lemmas[0].steps[0];
//!     std::mem::swap(&mut step.from, &mut step.to);
//! }
//! let flaw = certifier.proof(&trace, &sc, &proof).unwrap_err();
//! println!("refused: {flaw}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Run a monitor
//!
//! The lines of an interleaving are in the order in which everything happened. Could a store buffer have changed it?
//!
//! ```
//! use membar::monitor::Algorithm;
//!
//! let text = b"0: x := 1 ! a.c:3\n0: y == 0 ! a.c:4\n1: y := 1 ! b.c:3\n1: x == 1 ! b.c:4\ncheck\n";
//! let reports = membar::watch::monitor("run.trace", text, &[Algorithm::Tso, Algorithm::Pso])?;
//! assert_eq!(reports[0].verdict.name(), "unsafe");
//! assert_eq!(reports[0].violations[0].store.label.as_deref(), Some("a.c:3"));
//! # Ok::<(), membar::trace::Error>(())
//! ```
//!
//! # Explore a program step by step
//!
//! The parts of [`verify()`]: a litmus test, or [Rust code](program), is explored one happens-before class after the other;
//! findings are run on the certifier's machine:
//!
//! ```
//! use membar::certify::replay::confirms;
//! use membar::core::Relaxation;
//! use membar::litmus::{LitmusTest, LitmusThreads};
//! use membar::verify::{Settings, Verdict, explain, verify};
//!
//! let text = "X86 SB\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";
//! let test = LitmusTest::parse("SB.litmus", text.as_bytes())?;
//! let result = verify(&test.program(), Settings::new(Relaxation::Tso));
//! assert_eq!((result.verdict(), result.counts().executions), (Verdict::Unsafe, 3));
//!
//! let run = explain(&mut test.program(), &result.seen.violations[0]).expect("an execution");
//! assert!(confirms(&mut LitmusThreads::new(&test.code), Relaxation::Tso, &run.steps(), &run.claims()));
//! assert_eq!(run.fences.len(), 2); // one in each thread
//! # Ok::<(), membar::litmus::Error>(())
//! ```

#![warn(missing_docs)]

mod budget;
pub mod campaign;
mod decider;
mod failure;
#[doc(hidden)]
pub mod guard;
mod listener;
mod prefix;
pub mod program;
pub mod programs;
mod shrunk;
mod verification;
pub mod watch;

pub use budget::{Budget, Chosen};
pub use campaign::run as campaign;
pub use decider::{Answer, Decider, decide, refused};
pub use failure::{Failure, Interrupt, Problem, REPORT_BUG};
pub use listener::{Listener, Now};
pub use membar_certify as certify;
pub use membar_check as check;
pub use membar_core as core;
pub use membar_explore as explore;
pub use membar_litmus as litmus;
pub use membar_model as model;
pub use membar_monitor as monitor;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub use membar_native as native;
pub use membar_report as report;
pub use membar_simulate as simulate;
pub use membar_stress as stress;
pub use membar_trace as trace;
pub use membar_verify as verify;
pub use programs::{serve_programs, source};
pub use shrunk::annotated;
pub use verification::{
    AllowLine, Explored, Explores, Prepared, Shard, VerifyOptions, initial, verify, verify_enumerated, verify_explored,
    verify_telling,
};

pub use membar_certify::Certifier;
pub use membar_check::{Checker, Limits, Outcome};
pub use membar_core::{Model, ProgramVerdict, Proof, Trace, Verdict, VerdictKind, Witness};
pub use membar_report::Report;
pub use membar_trace::Reader;
