//! What a thread knows and may still use.
//!
//! # Problem
//!
//! A waiting loop is recognised by the state of its thread ([`super::idle`]). But registers and stack are full of what nobody will look at
//! again: the value that a compare-exchange found in the last round, a count of rounds that is never asked for. It hides
//! rounds, and each round that is hidden multiplies executions.
//!
//! # Algorithm
//!
//! The machine code of a function tells what is live at each of its calls:
//!
//! 1. [`flow`]: its control flow, and a forward pass that follows addresses in the frame and the registers that belong to
//!    the caller;
//! 2. [`sites`]: a backward pass for registers and the bytes of the frame.
//!
//! Both are made when a call of the function is first seen on a stack. [`Live::state`] walks the stack from the hook
//! outwards: of each frame it takes the return address, and the registers and words that are live there; then it puts the
//! registers back that the function has saved, which are its caller's. Where a frame is not understood, all registers as they
//! are there and all the rest of the stack count.
//!
//! # Guarantees
//!
//! If two states have the same number, then the thread does the same from both, as long as it reads the same (but for hashes that collide):
//!
//! * What is left out is overwritten before it is used, on every path. The paths of a function are those of its jumps; one
//!   with indirect jumps, or that returns twice, is not understood. Where an exception may lead elsewhere, everything is live.
//! * The frame is accessed by the function alone, as its instructions say, unless an address in it escapes; then all of it is live.
//!   Arguments on the stack are live as long as the function that gets them may look at them.
//! * A function that a hook calls, or that a library calls, has a return address that is not the program's: from there on
//!   everything counts.
//! * A hook may depend on its arguments as well. For those that are looked into, these are part of what is announced; at all others
//!   everything counts.
//!
//! Programs that write to their own frames through pointers that lead elsewhere are as wrong here as anywhere.
//!
//! # Complexity
//!
//! Of the analysis: passes are few in practice, each linear in instructions times bytes of the frame / 64. Of a state: linear in
//! frames and live words.
//!
//! # References
//!
//! Faint variables: Giegerich, Möncke, Wilhelm: Invariance of approximative semantics with respect to program transformations, 1981.

mod code;
mod flow;
mod forks;
mod quiet;
mod sites;
mod step;
#[cfg(test)]
mod tests;

use super::registers::{register, step, word_at};
use code::Code;
use flow::Flow;
use quiet::Known;
use rustc_hash::FxHashMap;
use sites::Site;
use std::path::Path;

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
pub fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(FACTOR).rotate_left(29)
}

/// The program's code, as far as it has been looked into.
#[derive(Debug, Default)]
pub struct Live {
    /// If it is to be looked into at all.
    code: Option<Code>,
    /// Where the object is loaded.
    base: usize,
    /// By return address, as they are in memory.
    sites: FxHashMap<usize, Option<Site>>,
    known: Known,
}

impl Live {
    /// Reads an object that is loaded there, unless it has been read.
    pub fn load(&mut self, object: &Path, base: usize) {
        if self.code.is_none() {
            *self = Live { code: Some(Code::load(object)), base, ..Live::default() };
        }
    }

    /// The call that returns to this address.
    #[inline]
    fn site(&mut self, back: usize) -> Option<&Site> {
        if !self.sites.contains_key(&back) {
            self.look(back);
        }
        self.sites.get(&back)?.as_ref()
    }

    /// Looks into the function that the address is in.
    #[cold]
    #[inline(never)]
    fn look(&mut self, back: usize) {
        let Live { code, base, sites, known } = self;
        sites.insert(back, None);
        let Some(code) = code else { return };
        // After a call that does not return there may be another function.
        let Some(entry) = back.checked_sub(*base + 1).and_then(|at| code.function(at as u64)) else { return };
        let Some(flow) = Flow::new(code, entry, |function| known.about(code, function)) else { return };
        for (at, site) in sites::sites(&flow) {
            sites.insert(*base + at as usize, site);
        }
    }

    /// Whether the result of the call that returns to this address may be looked at.
    pub fn result(&mut self, back: usize) -> bool {
        self.site(back).is_none_or(|site| site.result)
    }

    /// The stack of the thread that runs, from the return address of a stub's caller up to its first frame, and the registers that the
    /// caller's callers rely on: as one number.
    #[inline]
    pub fn state(&mut self, from: usize, to: usize) -> u64 {
        let mut registers: [usize; 6] = std::array::from_fn(|i| register(1 + i));
        // Steps of one call are not the same.
        let mut hash = mix(from as u64, step() as u64);
        let mut at = from;
        while at < to {
            let back = word_at(at);
            let Some(site) = self.site(back).filter(|site| site.hook || at != from) else { break };
            if at + site.size >= to {
                break;
            }
            hash = mix(hash, back as u64);
            for (i, &value) in registers.iter().enumerate() {
                if site.registers >> i & 1 != 0 {
                    hash = mix(hash, value as u64);
                }
            }
            for &(above, bits) in &site.words {
                hash = mix(hash, word_at(at + above as usize) as u64 & bits);
            }
            for &(i, above) in &site.saved {
                registers[usize::from(i)] = word_at(at + above as usize);
            }
            at += site.size;
        }
        whole(hash, &registers, at, to)
    }
}

/// Everything on the stack between two addresses, and these registers.
fn whole(hash: u64, registers: &[usize; 6], from: usize, to: usize) -> u64 {
    // Four lanes: a chain of multiplications would take longer than everything else.
    let mut lanes = [from as u64, 1, 2, 3];
    for (i, &register) in registers.iter().enumerate() {
        lanes[i % 4] = mix(lanes[i % 4], register as u64);
    }
    let words = to.saturating_sub(from) / 8;
    // SAFETY: the stack of a running thread, between its stack pointer and its first frame.
    let stack = unsafe { std::slice::from_raw_parts(from as *const u64, words) };
    let mut chunks = stack.chunks_exact(4);
    for chunk in &mut chunks {
        for (lane, &word) in lanes.iter_mut().zip(chunk) {
            *lane = mix(*lane, word);
        }
    }
    for (lane, &word) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = mix(*lane, word);
    }
    lanes.iter().fold(hash ^ words as u64, |hash, &lane| mix(hash, lane))
}
