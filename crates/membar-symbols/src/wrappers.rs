//! Code that reports do not name, but its caller.
//!
//! # Problem
//!
//! Without optimisation `flag.store(1)` is a call of a function in a system header. The access is made there, but the
//! place that the user knows is the call.
//!
//! # Algorithm
//!
//! Everything is a wrapper that is not the user's: what is left of the object when the functions of the user's files are
//! taken out. That includes libraries that were linked in, and our stubs. A function is its file's at its entry, where
//! nothing is inlined into it.
//!
//! With optimisation the user's code may be inlined into a function of a system header, as a thread's lambda is. So each
//! call in such a function is examined: if a function of the user's makes it, it stays the user's.

use crate::Symbols;

/// The length of a direct call, and its first byte.
const CALL: u64 = 5;
const OPCODE: u8 = 0xe8;

impl Symbols {
    /// Return addresses of calls in a Rust program by which its own code, and not the standard library's, makes an atomic access, sorted.
    /// That is a call from the user's code, or from the library's functions of atomics inlined there or called from there. Empty if the
    /// object is not a Rust program's.
    pub fn own_atomics(&self) -> Vec<u32> {
        if !self.image.has_function("rust_eh_personality") {
            return Vec::new();
        }
        let mut own = Vec::new();
        for range in &self.index().functions {
            let code = self.image.code(range.low, range.high - range.low);
            let calls = code.iter().enumerate().filter(|(_, byte)| **byte == OPCODE);
            let back = calls.map(|(at, _)| range.low + at as u64 + CALL).filter(|back| *back <= range.high);
            own.extend(back.filter(|back| self.is_own(*back)).filter_map(|back| u32::try_from(back).ok()));
        }
        own.sort_unstable();
        own
    }

    fn is_own(&self, back: u64) -> bool {
        let atomic = |file: &str| file.contains("/core/src/sync/atomic");
        let frames = self.place(back);
        let library = frames.iter().take_while(|frame| !self.is_user_file(&frame.file));
        !frames.is_empty() && library.into_iter().all(|frame| atomic(&frame.file))
    }

    /// Code that only wraps, as sorted ranges of offsets. Empty if nothing is known about the user's functions.
    pub fn wrappers(&self) -> Vec<(u32, u32)> {
        let mut own: Vec<(u64, u64)> = Vec::new();
        for range in &self.index().functions {
            let entry = self.place(range.low + 1);
            if entry.last().is_some_and(|frame| self.is_user_file(&frame.file)) {
                own.push((range.low, range.high));
            } else {
                let code = self.image.code(range.low, range.high - range.low);
                let calls = code.iter().enumerate().filter(|(_, byte)| **byte == OPCODE);
                let back = calls.map(|(at, _)| range.low + at as u64 + CALL).filter(|back| *back <= range.high);
                own.extend(back.filter(|back| self.user_frame(*back).is_some()).map(|back| (back - 1, back)));
            }
        }
        own.sort_unstable();
        if own.is_empty() {
            return Vec::new();
        }
        let (mut wrappers, mut at) = (Vec::new(), 0);
        let narrow = |offset: u64| u32::try_from(offset).unwrap_or(u32::MAX);
        for (low, high) in own {
            if low > at {
                wrappers.push((narrow(at), narrow(low)));
            }
            at = at.max(high);
        }
        wrappers.push((narrow(at), u32::MAX));
        wrappers
    }
}
