//! States of the machine that have been seen.
//!
//! A state is kept as numbers: of what each thread has found so far with what is in its buffer, and of memory. Equal
//! numbers stand for equal things; so states are compared exactly, and parts that many have in common are kept once.

use super::machine::{Machine, Seen};
use crate::MAX_THREADS;
use rustc_hash::{FxHashMap, FxHashSet};

/// The states that have been seen, and the numbers of their parts.
#[derive(Default)]
pub(super) struct States {
    /// What a thread has found: before, and then.
    histories: FxHashMap<(u32, u64, bool), u32>,
    threads: FxHashMap<Box<[u64]>, u32>,
    memories: FxHashMap<Box<[Option<Seen>]>, u32>,
    seen: FxHashSet<Box<[u32]>>,
}

/// The number of something.
fn number<K: std::hash::Hash + Eq>(known: &mut FxHashMap<K, u32>, key: K) -> u32 {
    let next = known.len() as u32;
    *known.entry(key).or_insert(next)
}

impl States {
    /// The number of what a thread has found that found this after that.
    pub(super) fn found(&mut self, before: u32, value: u64, dead: bool) -> u32 {
        // Those of threads that have done nothing are the threads themselves.
        MAX_THREADS as u32 + number(&mut self.histories, (before, value, dead))
    }

    /// Whether the state is new. It is not afterwards.
    pub(super) fn is_new(&mut self, machine: &Machine) -> bool {
        let mut state: Vec<u32> = machine.threads().map(|thread| number(&mut self.threads, thread)).collect();
        let memory = machine.memory();
        let known = memory.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        state.push(number(&mut self.memories, memory[..known].into()));
        self.seen.insert(state.into())
    }
}
