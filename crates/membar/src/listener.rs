//! Listeners to the progress of a verification or a campaign.

use std::path::Path;

/// How far something is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Now {
    /// The current task.
    pub name: String,
    /// The part of it that is done, from 0 to 1, if that is known.
    pub share: Option<f64>,
    /// For how long.
    pub seconds: f64,
    /// It ends after this many seconds, whatever is left.
    pub limit: Option<f64>,
    /// Its counts.
    pub counts: String,
}

/// Receives news before there is a result. Each method does nothing unless it is given.
pub trait Listener: Sync {
    /// There is progress. Called often: a listener that does not show it need not ask how far it is.
    fn progress(&self, _now: &dyn Fn() -> Now) {}

    /// Something begins during which nothing will be told.
    fn busy(&self, _now: &dyn Fn() -> Now) {}

    /// Nothing happens for now.
    fn rest(&self) {}

    /// It was interrupted, and the state from which it can be resumed is in this file.
    fn kept(&self, _state: &Path, _program: &str) {}

    /// A line for people: something about the program, or a violation that was kept.
    fn note(&self, _line: &str) {}
}

/// Nobody.
impl Listener for () {}
