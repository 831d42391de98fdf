//! Functions that others may call without doing anything.
//!
//! # Problem
//!
//! A loop that yields now and then may do so through functions of the program: `std::this_thread::yield`, which the compiler
//! does not expand at `-O0`, or a `cpu_relax` of the program's own. A call of an unknown function would make all that decides whether
//! it is called live.
//!
//! # Algorithm
//!
//! A function is *quiet* if it is short, has no cycle, returns to its caller and to nobody else, leaves the arguments on the stack alone, and does
//! nothing but write registers and its own frame, jump, and call hooks that do nothing or functions that are quiet, to a depth of [`DEPTH`].
//!
//! # Guarantees
//!
//! A call of a quiet function always comes back, and all that is different afterwards is in registers that a function may change, made
//! of its arguments.
//!
//! # Complexity
//!
//! Each function is looked into once for each depth.

use super::code::Code;
use super::flow::{About, Flow};
use super::forks::{ends, is_harmless};
use super::step::RESULTS;
use rustc_hash::FxHashMap;

/// How deep calls are followed: `yield`, and what it calls in the C++ library.
const DEPTH: u8 = 3;
/// The longest function that is looked into, in bytes.
const LONGEST: u64 = 256;

/// What has been found out about functions.
#[derive(Debug, Default)]
pub struct Known {
    about: FxHashMap<u64, About>,
    /// By function, and how deep its calls are followed.
    quiet: FxHashMap<(u64, u8), bool>,
}

impl Known {
    pub fn about(&mut self, code: &Code, function: u64) -> About {
        if let Some(&about) = self.about.get(&function) {
            return about;
        }
        let quiet = self.is_quiet(code, function, DEPTH);
        let above = !quiet && Flow::new(code, function, |_| About::ANYTHING).is_none_or(|flow| flow.above);
        let about = About { above, quiet };
        self.about.insert(function, about);
        about
    }

    fn is_quiet(&mut self, code: &Code, function: u64, depth: u8) -> bool {
        let short = code.end(function).is_some_and(|end| end - function <= LONGEST);
        if depth == 0 || !short {
            return false;
        }
        if let Some(&quiet) = self.quiet.get(&(function, depth)) {
            return quiet;
        }
        let callee = |callee| About { above: true, quiet: self.is_quiet(code, callee, depth - 1) };
        let quiet = Flow::new(code, function, callee).is_some_and(|flow| does_nothing(&flow));
        self.quiet.insert((function, depth), quiet);
        quiet
    }
}

// Code that catches exceptions does not count: nothing that is called throws any.
fn does_nothing(flow: &Flow) -> bool {
    let harmless = flow.points.iter().all(|point| {
        let effect = &point.effect;
        let returns = effect.call.is_none() && effect.always == RESULTS;
        if point.after.is_empty() { returns } else { is_harmless(flow, effect) }
    });
    harmless && !flow.above && !flow.escapes && ends(flow, (0..flow.points.len()).collect())
}
