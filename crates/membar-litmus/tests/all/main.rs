//! The tests of `membar-litmus`, in one program: it links once.

mod corpus;
mod cycles;
mod dialects;
mod errors;
mod oracle;
mod random;
mod shared;
mod way;
