//! `sc`: every access acts on the one memory immediately, in program order.
//!
//! Machine: cores whose windows hold up to eight instructions; the oldest is performed at its place in one global order, and a
//! store is in memory when it has been performed. Model: `sc`. Bugs: none; a reference.

use super::window::{Buffering, Policy};

pub(super) const POLICY: Policy = Policy { buffering: Buffering::None, out_of_order: false };
