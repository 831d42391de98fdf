//! Explores the sequentially consistent executions of a program.

mod explore;
mod observer;
mod program;
mod races;
mod sample;
mod schedule;
mod tree;
mod worker;

pub use explore::{Options, Search, SearchState, Strategy};
pub use observer::{Blind, Observer};
pub use program::{MAX_THREADS, Next, Program, Waiting};
pub use schedule::{BadSchedule, Schedule};
pub use worker::{Counts, End};
