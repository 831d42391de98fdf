//! The tests of `membar-trace`, in one program: it links once.

mod errors;
mod reading;
mod round_trip;
