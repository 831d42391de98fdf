//! The tests of `membar-check`, in one program: it links once.

mod buffers;
mod common;
mod diff;
mod metamorphic;
mod named;
mod open;
mod oracle;
mod parts;
mod repeated;
mod riscv;
mod synchronized;
