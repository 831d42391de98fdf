//! Does a program stay sequentially consistent on hardware with store buffers, and under C11?
//!
//! [`Verification`] explores the SC executions of a [`membar_explore::Program`] and runs a monitor on each. It finds
//! distinct violations ([`Found`]: a store that can be delayed and an access that overtakes it, with a schedule) and
//! program errors ([`ProgramError`], data races among them). [`explain()`] turns a violation into the execution under TSO or PSO
//! that is not SC, its happens-before cycle, and the places where a fence forbids it.
//!
//! ```
//! use membar_core::Relaxation;
//! use membar_explore::Strategy;
//! use membar_litmus::{Interpreter, LitmusTest};
//! use membar_verify::{Settings, Verdict, Watching, explain, verify};
//! use std::sync::Arc;
//!
//! let text = "X86 MP
//! { }
//!  P0         | P1          ;
//!  MOV [x],$1 | MOV EAX,[y] ;
//!  MOV [y],$1 | MOV EBX,[x] ;
//! exists (1:EAX=1 /\\ 1:EBX=0)";
//! let test = LitmusTest::parse("MP.litmus", text.as_bytes())?;
//! let mut program = Interpreter::new(Arc::new(test.code));
//! let settings = |model| Settings { strategy: Strategy::Dpor, watching: Watching::Class, max_steps: 1000, ..Settings::new(model) };
//!
//! assert_eq!(verify(&program, settings(Relaxation::Tso)).verdict(), Verdict::Safe);
//! let pso = verify(&program, settings(Relaxation::Pso));
//! assert_eq!(pso.verdict(), Verdict::Unsafe);
//! let explanation = explain(&mut program, &pso.seen.violations[0]).unwrap();
//! assert_eq!(explanation.fences.len(), 1); // between the two stores
//! # Ok::<(), membar_litmus::Error>(())
//! ```

mod explain;
mod race;
mod seen;
mod verify;
mod watch;
mod weak_run;

pub use explain::{Event, Explanation, Fence, Link, RunStep, explain, explain_run};
/// The result of a verification.
pub use membar_core::ProgramVerdict as Verdict;
pub use race::{RacingSteps, race};
pub use seen::{ErrorKind, Example, Found, MAX_RESTS, ProgramError, Seen, WeakError};
pub use verify::{Checkpoint, Effort, Manner, Models, Races, Settings, Verification, verify};
pub use watch::{Watch, Watching};
pub use weak_run::{Delay, WeakRun, weak_run};
