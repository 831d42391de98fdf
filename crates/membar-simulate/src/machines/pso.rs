//! `pso`: a first-in first-out store buffer for each core and address.
//!
//! Machine: as `tso`, but stores to different addresses leave the buffer in any order unless a store barrier is between them.
//! A full barrier waits for an empty buffer, an atomic for its own address's stores only. Model: `pso`. Bugs: none; a reference.

use super::window::{Buffering, Policy};

pub(super) const POLICY: Policy = Policy { buffering: Buffering::PerAddress, out_of_order: false };
