//! Runs C, C++ and Rust programs under membar's scheduler.
//!
//! * [`build`]: compiles a program with the machine's gcc, clang or rustc, instrumented, into a shared object.
//! * `run`, which is private: loads that object and runs its threads as coroutines, one access per step. It is reached through
//!   processes only, so whatever a program does to memory stays in one.
//! * [`process`]: the same in their own processes, which are the workers of the explorer.
//! * [`session`]: a program under verification, with what is learnt about it.
//! * [`words`]: the names of threads, places, variables and values in reports, from debug information ([`membar_symbols`]).
//!
//! For Linux with the GNU C library on x86-64; anywhere else the crate is empty.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

pub mod build;
mod files;
pub mod process;
mod run;
pub mod session;
pub mod words;

pub use run::{Cell, Divergence, Facts, Located, Made, Options, Standing, Traced, TracedStep, Unseen};
