//! The tests of `membar-model`, in one program: it links once.

mod builtins;
mod errors;
mod never_panics;
