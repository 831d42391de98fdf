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
//!
//! Atomic accesses of Rust's own library are none of the user's business ([`Callers::own_atomics`]). A call belongs to functions inlined
//! into each other, the innermost first. Up to the first of the user's, or to the end if there is none, all have to be the library's
//! functions of atomics; any other function of the library there makes the access the library's. The library itself is optimised: its calls of
//! those functions are inlined, so that one that is not inlined was called by the user's code.
//!
//! # Guarantees
//!
//! A byte that looks like the beginning of a direct call may be something else. Then no call returns to the place behind it, and an entry for
//! that place does no harm.
//!
//! # Complexity
//!
//! Code is read once: that of the library's functions, and in a Rust program the user's too. Each call found is one search in the tables of
//! lines and inlined functions, linear in the depth of inlining.

use crate::Symbols;
use crate::index::FunctionRange;
use crate::lines::Owner;

/// The length of a direct call, and its first byte.
const CALL: u64 = 5;
const OPCODE: u8 = 0xe8;

/// Who makes the accesses of a program.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Callers {
    /// Code that only wraps, as sorted ranges of offsets. Empty if nothing is known about the user's functions.
    pub wrappers: Vec<(u32, u32)>,
    /// Return addresses of calls in a Rust program by which its own code, and not the standard library's, makes an atomic access, sorted.
    /// That is a call from the user's code, or from the library's functions of atomics inlined there or called from there. Empty if the
    /// object is not a Rust program's.
    pub own_atomics: Vec<u32>,
}

impl Symbols {
    /// Who makes the accesses of this program.
    pub fn callers(&self) -> Callers {
        let Some(mut lines) = self.lines() else { return Callers::default() };
        let names = self.names();
        // As for `place`: a return address may belong to the next line.
        let mut owners = |back: u64| lines.owners(back.saturating_sub(1), names);
        let rust = self.image.has_function("rust_eh_personality");
        let (mut own, mut own_atomics) = (Vec::new(), Vec::new());
        for range in &self.index().functions {
            let is_own = owners(range.low + 1).last() == Some(&Owner::User);
            if is_own {
                own.push((range.low, range.high));
            }
            if is_own && !rust {
                continue;
            }
            for back in self.calls(range) {
                let owners = owners(back);
                let is_users = |owner: &Owner| *owner == Owner::User || is_own && *owner == Owner::Unknown;
                let library = owners.iter().take_while(|owner| !is_users(owner));
                if rust && !owners.is_empty() && library.clone().all(|owner| *owner == Owner::Atomics) {
                    own_atomics.extend(u32::try_from(back));
                }
                if !is_own && library.count() < owners.len() {
                    own.push((back - 1, back));
                }
            }
        }
        own_atomics.sort_unstable();
        own.sort_unstable();
        Callers { wrappers: others(&own), own_atomics }
    }

    /// What may be return addresses of direct calls in a function.
    fn calls(&self, range: &FunctionRange) -> impl Iterator<Item = u64> {
        let (low, high) = (range.low, range.high);
        let code = self.image.code(low, high - low);
        let calls = code.iter().enumerate().filter(|(_, byte)| **byte == OPCODE);
        calls.map(move |(at, _)| low + at as u64 + CALL).filter(move |back| *back <= high)
    }
}

/// What is between sorted ranges and around them.
fn others(own: &[(u64, u64)]) -> Vec<(u32, u32)> {
    if own.is_empty() {
        return Vec::new();
    }
    let (mut others, mut at) = (Vec::new(), 0);
    let narrow = |offset: u64| u32::try_from(offset).unwrap_or(u32::MAX);
    for &(low, high) in own {
        if low > at {
            others.push((narrow(at), narrow(low)));
        }
        at = at.max(high);
    }
    others.push((narrow(at), u32::MAX));
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that reports have say the same; of this program, which is one of Rust's.
    #[test]
    fn owners_are_those_of_the_files_that_are_named() {
        let symbols = Symbols::load(&std::env::current_exe().expect("a path")).expect("this program");
        let (functions, files) = (&symbols.index().functions, symbols.files());
        let (mut users, mut unknown) = (0, 0);
        for range in functions.iter().step_by(functions.len() / 300) {
            for back in symbols.calls(range).take(20) {
                let owner = |file: &str| if file.is_empty() { Owner::Unknown } else { files.owner(file) };
                let named: Vec<Owner> = symbols.place(back).iter().map(|frame| owner(&frame.file)).collect();
                let mut lines = symbols.lines().expect("debug information");
                let owners = lines.owners(back - 1, symbols.names());
                assert!(named == owners || owners.is_empty(), "{:?}: {owners:?}", symbols.place(back));
                users += usize::from(owners.contains(&Owner::User));
                unknown += usize::from(owners.contains(&Owner::Unknown));
            }
        }
        assert!(users > 100, "{users} users, {unknown} unknown");
    }
}
