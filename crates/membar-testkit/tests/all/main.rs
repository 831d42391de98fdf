//! The tests of `membar-testkit`, in one program: it links once.

mod agreement;
mod graphs;
mod models;
mod named_programs;
mod random_programs;
mod rc11;
mod synchronized;
