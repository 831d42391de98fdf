//! `wmo`: instructions of the window in any order.
//!
//! Machine: as `pso`, but a core performs any instruction of its window of eight that no older one on the same address, and no
//! barrier, holds back: loads overtake loads, stores overtake loads, and all of them overtake atomics and locks on other
//! addresses. An instruction that leaves the window before another enters it stays before it, which is the model's "time".
//! Model: `wmo`, with or without times. Bugs: none; a reference.

use super::window::{Buffering, Policy};

pub(super) const POLICY: Policy = Policy { buffering: Buffering::PerAddress, out_of_order: true };
