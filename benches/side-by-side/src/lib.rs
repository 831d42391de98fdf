//! Programs that membar, loom and shuttle can all run. Each source is compiled once per tool, with that tool's `sync`, `thread` and cell.

/// The standard library, for membar.
pub mod on_std {
    pub use std::{hint, sync, thread};
    pub mod cell;
    include!("programs/list.rs");
}

#[cfg(feature = "others")]
/// Loom's.
pub mod on_loom {
    pub use loom::{cell, hint, sync, thread};
    include!("programs/list.rs");
}

#[cfg(feature = "others")]
/// Shuttle's; it has no cell.
pub mod on_shuttle {
    pub use super::on_std::cell;
    pub use shuttle::{hint, sync, thread};
    include!("programs/list.rs");
}

#[cfg(test)]
mod tests {
    use super::on_std::*;

    #[test]
    fn mp_relaxed() {
        mp_relaxed::run();
    }

    #[test]
    fn sb_seqcst() {
        sb_seqcst::run();
    }

    #[test]
    fn lock_relaxed() {
        lock_relaxed::run();
    }

    #[test]
    fn counter() {
        counter::run();
    }

    #[test]
    fn treiber() {
        treiber::run();
    }
}
