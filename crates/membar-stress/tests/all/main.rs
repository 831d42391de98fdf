//! The tests of `membar-stress`, in one program: it links once.

mod litmus;
mod programs;
