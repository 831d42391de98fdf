//! Exploring a test with monitors.
//!
//! The search is generic over programs. What it does with litmus tests is compiled here, with the interpreter, and so the crates
//! that only say what to explore need no optimisation.

use crate::Interpreter;
use membar_explore::Local;
use membar_verify::{Checkpoint, Effort, Verification, Watch};
use std::ops::Deref;
use std::sync::atomic::AtomicBool;

/// The verification of a litmus test in progress.
pub struct LitmusVerification(Verification<Local<Interpreter, Watch>>);

impl LitmusVerification {
    /// Begins, or continues, at a checkpoint, with as many workers as the effort says.
    pub fn new(checkpoint: Checkpoint, program: Interpreter, effort: Effort) -> LitmusVerification {
        LitmusVerification(Verification::local(checkpoint, program, effort))
    }

    /// Goes on for some milliseconds, or until `stop`.
    pub fn advance(&mut self, stop: &AtomicBool) {
        self.0.advance(stop);
    }
}

impl Deref for LitmusVerification {
    type Target = Verification<Local<Interpreter, Watch>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
