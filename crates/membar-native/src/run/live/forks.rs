//! Branches that may decide nothing.
//!
//! # Problem
//!
//! A waiting loop counts its rounds, and yields now and then: `if (++n > 100) { n = 0; sched_yield(); }`. The branch uses the
//! count, so the count would be live, and rounds that differ in nothing else would be different rounds.
//!
//! # Algorithm
//!
//! A conditional jump is a *fork* if its two ways meet again at one instruction, its *join*, and what is between
//!
//! 1. has no cycle, does not come back to the jump, and does not leave the function, so that the join is always reached;
//! 2. does nothing but write registers and the frame, jump, and call functions that do nothing.
//!
//! If what is written in between is not live at the join, both ways are alike to everybody. That is for [`super::sites`] to say: what is live
//! depends on which forks count.
//!
//! # Guarantees
//!
//! From two states that agree in what is live at the join a thread comes to the join with states that agree in it, whichever ways it takes,
//! and does the same before that: nothing.
//!
//! # Complexity
//!
//! Constant for each conditional jump: at most [`MOST`]² instructions are looked at.

use super::code::{Callee, Hook};
use super::flow::{Effect, Flow, Span};
use rustc_hash::FxHashMap;

/// The most instructions between a fork and its join.
const MOST: usize = 48;

/// A conditional jump whose two ways meet.
#[derive(Debug)]
pub struct Fork {
    /// Where they meet.
    pub join: usize,
    /// The registers that are written on the way.
    pub writes: u32,
    /// The bytes of the frame.
    pub stores: Vec<Span>,
}

/// Whether an instruction does nothing but write registers and the frame, or jump.
pub fn is_harmless(flow: &Flow, effect: &Effect) -> bool {
    match effect.call {
        None => !effect.acts || effect.jumps,
        Some(Callee::Hook(Hook::Nothing) | Callee::Quiet) => true,
        // Others see nothing of a frame that is nobody else's.
        Some(Callee::Hook(Hook::Access | Hook::Fill { .. } | Hook::Rest { .. })) => effect.own && !flow.escapes,
        Some(_) => false,
    }
}

/// The instructions that may come between a fork and this join, if they are as they have to be.
fn between(flow: &Flow, fork: usize, join: usize) -> Option<Vec<usize>> {
    let mut found: Vec<usize> = Vec::new();
    let mut todo = flow.points[fork].after.clone();
    while let Some(i) = todo.pop() {
        if i == join || found.contains(&i) {
            continue;
        }
        let point = &flow.points[i];
        if i == fork || point.after.is_empty() || !is_harmless(flow, &point.effect) || found.len() == MOST {
            return None;
        }
        found.push(i);
        todo.extend(&point.after);
    }
    ends(flow, found.clone()).then_some(found)
}

/// Whether there is no cycle among these instructions.
pub fn ends(flow: &Flow, mut left: Vec<usize>) -> bool {
    // Take away those that nothing leads to; what is left over is a cycle.
    while let Some(at) = left.iter().position(|i| !left.iter().any(|user| flow.points[*user].after.contains(i))) {
        left.swap_remove(at);
    }
    left.is_empty()
}

/// The forks of a function, by the instruction.
pub fn forks(flow: &Flow) -> FxHashMap<usize, Fork> {
    let mut forks = FxHashMap::default();
    for (i, point) in flow.points.iter().enumerate() {
        let [one, _] = point.after[..] else { continue };
        if !point.effect.jumps {
            continue;
        }
        // Both ways come to the join, so it is enough to follow one.
        let (mut candidates, mut at) = (vec![one], 0);
        while let Some(&join) = candidates.get(at).filter(|_| at < MOST) {
            if let Some(found) = between(flow, i, join) {
                let effects = || found.iter().map(|&i| &flow.points[i].effect);
                let writes = effects().fold(0, |writes, effect| writes | effect.writes);
                let stores: Vec<Span> = effects().filter_map(|effect| effect.store).collect();
                if !flow.escapes || stores.is_empty() {
                    forks.insert(i, Fork { join, writes, stores });
                }
                break;
            }
            if is_harmless(flow, &flow.points[join].effect) {
                for &next in &flow.points[join].after {
                    if !candidates.contains(&next) {
                        candidates.push(next);
                    }
                }
            }
            at += 1;
        }
    }
    forks
}
