//! Who watches an exploration.

use crate::End;
use membar_core::{Access, Performed};

/// Watches executions step by step, forwards and backwards.
pub trait Observer {
    /// What was seen since the last [`Observer::take`].
    type Part: Send;

    /// An access was made. If it is not `fresh`, it has been reported before and is only repeated to get to a state.
    fn push(&mut self, performed: &Performed, fresh: bool);

    /// The last access is taken back.
    fn pop(&mut self);

    /// At the end of an execution: this thread would make this access if it did not wait.
    fn tried(&mut self, thread: usize, access: Access);

    /// An execution has ended that had not been seen before; `path` is its schedule.
    fn end(&mut self, end: End, path: &[u8]);

    /// In the execution that has ended, a thread stopped at a fault.
    fn fault(&mut self, thread: usize, fault: String, path: &[u8]);

    /// What was seen since the last time.
    fn take(&mut self) -> Self::Part;
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blind;

impl Observer for Blind {
    type Part = ();
    #[inline]
    fn push(&mut self, _: &Performed, _: bool) {}
    #[inline]
    fn pop(&mut self) {}
    fn tried(&mut self, _: usize, _: Access) {}
    #[inline]
    fn end(&mut self, _: End, _: &[u8]) {}
    fn fault(&mut self, _: usize, _: String, _: &[u8]) {}
    fn take(&mut self) {}
}
