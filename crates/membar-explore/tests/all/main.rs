//! The tests of `membar-explore`, in one program: it links once.

mod blocking;
mod common;
mod graphs;
mod symmetry;
mod workers;
