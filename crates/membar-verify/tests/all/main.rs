//! The tests of `membar-verify`, in one program: it links once.

mod bytes;
mod c11;
mod common;
mod litmus;
mod named;
mod oracle;
