//! Runs a program that [`crate::build`] made, in this process, one access per step.
//!
//! A process runs one program, on one of its threads; a caller that wants more, or wants to be safe from what a program does,
//! starts processes ([`crate::process`]), which are the only way to get here from outside of this crate.
//!
//! # Safety
//!
//! All state is in one place, the [`world::World`], because the program's own code calls hooks that have no other way to find
//! it. Code that reaches it through [`world::world`] keeps to these rules:
//!
//! * It is the thread that loaded the program ([`Native`] is neither `Send` nor `Sync`, so no other has one), or a signal
//!   handler on that thread, which touches only what its documentation says.
//! * No reference to it is kept across a switch between coroutines, nor across a call into the program: both may come back
//!   with anything in it changed.

// Everything here deals with the memory of a program that was compiled by somebody else.
#![allow(unsafe_code)]

mod access;
mod announce;
mod choose;
mod coroutine;
mod facts;
mod fault;
mod float;
mod handlers;
mod heap;
mod hooks;
mod idle;
mod layout;
mod libc_hooks;
mod live;
mod made;
mod module;
mod opaque;
mod output;
mod pages;
mod park;
mod parts;
mod program;
mod registers;
mod rust;
mod sections;
mod shadow;
mod slot;
mod snapshot;
mod stack;
pub(crate) mod stubs;
mod switch;
mod sync;
mod thread;
mod trace;
mod tsan;
mod twins;
mod unwind;
mod world;

pub use facts::{Divergence, Facts};
pub use opaque::Unseen;
pub(crate) use program::Native;
pub use program::Options;
pub use shadow::Cell;
pub use trace::{Located, Made, Standing, Traced, TracedStep};
pub(crate) use trace::{barrier_of, kind_of, number_of, remedy_of};
