//! `tso`: a first-in first-out store buffer for each core.
//!
//! Machine: cores perform in program order; a store enters the core's buffer and reaches memory later, in order. A load
//! returns the youngest store to its address in its own buffer, else memory. Full barriers, atomics and lock operations wait for an
//! empty buffer. Model: `tso`. Bugs: none; a reference.

use super::window::{Buffering, Policy};

pub(super) const POLICY: Policy = Policy { buffering: Buffering::Fifo, out_of_order: false };
