//! Explores the sequentially consistent executions of a program.

mod program;

pub use program::{MAX_THREADS, Next, Program, Waiting};
