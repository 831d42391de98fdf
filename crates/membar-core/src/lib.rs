//! The vocabulary of membar: the definitions of traces, models, verdicts and proofs.
//!
//! This crate decides nothing. It holds the types that every other crate exchanges:
//!
//! * [`Trace`]: a recorded execution, one column per property, ids are `u32` newtypes;
//! * [`Model`]: a memory model as plain data (which program order a thread keeps, what barriers add);
//! * [`Verdict`]: allowed with a [`Witness`], forbidden with a [`Proof`], or undecided;
//! * [`Rule`]: the names under which an ordering edge may be justified;
//! * [`Access`] and [`Performed`]: what a program that we run ourselves does to memory.
//!
//! Start with [`Trace`]: `membar-trace` fills one from text, `membar-check` decides it, `membar-certify` re-checks
//! the verdict and `membar-report` shows it.

mod buffer;
mod c11;
mod clock;
mod diagnostic;
mod ids;
mod marks;
mod model;
mod named;
mod names;
mod open;
mod part;
mod proof;
mod repeated;
mod resolve;
mod rng;
mod run;
mod threads;
mod trace;

pub use buffer::{Buffered, StoreBuffer};
pub use c11::{C11, Fence, Order};
pub use clock::{Clock, Compare};
pub use diagnostic::{Diagnostic, Excerpt, Located, Place, columns, harmless, lossy};
pub use ids::{AddrId, OpId, Source, ThreadId};
pub use marks::{Dependency, Depends, Marks};
pub use model::{Condition, Conditions, Kind, Kinds, Mask, Model, Ppo, When};
pub use named::{Algorithm, Axiom, Frequency, Named, ProgramVerdict, Relation, RuleName, VerdictKind};
pub use names::{nearest, quoted};
pub use open::Read;
pub use part::{Part, WIDEST, WORD, largest};
pub use proof::{Assumption, Event, Flip, Lemma, Proof, ProofStep, Rule, Undecided, Verdict, Witness};
pub use repeated::LeftOut;
pub use resolve::{Malformed, ResolveScratch};
pub use rng::Rng;
pub use run::{
    Access, AccessKind, Barrier, Claim, GraphModel, MachineStep, Performed, ProgramModel, Relaxation, Remedy, WeakStep,
};
pub use threads::{Halt, Threads};
pub use trace::{AddrName, Final, Guard, Init, Op, OpKind, OrderLine, Span, Trace};
