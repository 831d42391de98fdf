//! The tests of `membar-simulate`, in one program: it links once.

mod godson;
mod machines;
