//! The tests of `membar-monitor`, in one program: it links once.

mod common;
mod figures;
mod twins;
mod witness;
