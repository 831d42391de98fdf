//! Who watches an exploration.

use crate::End;
use membar_core::{Access, Performed};

/// Watches executions step by step, forwards and backwards.
pub trait Observer {
    /// What was seen since the last [`Observer::take`].
    type Part: Send;

    /// An access was made, perhaps only to get again to a state that was seen before.
    fn push(&mut self, performed: &Performed);

    /// The last access is taken back.
    fn pop(&mut self);

    /// At the end of an execution: this thread would make this access if it did not wait.
    fn tried(&mut self, thread: usize, access: Access);

    /// An execution has ended that had not been seen before; `path` is its schedule.
    fn end(&mut self, end: End, path: &[u8]);

    /// In the execution that has ended, a thread stopped at a fault.
    fn fault(&mut self, thread: usize, fault: String, path: &[u8]);

    /// Whether enough has been seen: then the search stops as soon as it can.
    fn enough(&self) -> bool {
        false
    }

    /// What was seen since the last time.
    fn take(&mut self) -> Self::Part;
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blind;

impl Observer for Blind {
    type Part = ();
    #[inline]
    fn push(&mut self, _: &Performed) {}
    #[inline]
    fn pop(&mut self) {}
    fn tried(&mut self, _: usize, _: Access) {}
    #[inline]
    fn end(&mut self, _: End, _: &[u8]) {}
    fn fault(&mut self, _: usize, _: String, _: &[u8]) {}
    fn take(&mut self) {}
}
