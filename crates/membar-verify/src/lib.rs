//! Does a program stay sequentially consistent on hardware with store buffers?
//!
//! [`Verification`] explores the SC executions of a [`membar_explore::Program`] and runs a monitor on each. What it finds
//! are distinct violations ([`Found`]: a store that can be delayed and an access that overtakes it, with a schedule) and
//! errors of the program itself ([`ProgramError`]). [`explain()`] turns a violation into the execution under TSO or PSO
//! that is not SC, its happens-before cycle, and the places where a fence forbids it.

mod explain;
mod verify;
mod watch;

pub use explain::{Event, Explanation, Fence, Link, Relation, RunStep, explain};
pub use verify::{Checkpoint, Effort, Settings, Verdict, Verification, verify};
pub use watch::{ErrorKind, Found, ProgramError, Seen, Watching};
