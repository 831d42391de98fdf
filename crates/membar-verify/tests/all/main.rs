//! The tests of `membar-verify`, in one program: it links once.

mod bytes;
mod c11;
mod common;
mod graphs;
mod litmus;
mod named;
mod oracle;
mod reductions;
mod weak_run;
