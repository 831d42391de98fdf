//! Observers of an exploration.

use crate::{End, Fault, Outcome, Step};
use membar_core::{Access, Performed, WeakStep};

/// An execution of a memory model, up to where it has come.
pub trait WeakExecution {
    /// How many steps it has.
    fn len(&self) -> usize;

    /// Whether nothing has happened.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its steps.
    fn steps(&self) -> Vec<WeakStep>;

    /// What is not sequentially consistent about it: accesses that are before a write to their address, and on a cycle of
    /// po ∪ rf ∪ co ∪ fr for that reason. Pairs of instructions, that of the access first, in order and each once.
    fn missed(&self) -> Vec<(u32, u32)>;
}

/// Watches executions step by step, forwards and backwards.
pub trait Observer {
    /// Everything seen since the last [`Observer::take`].
    type Part: Send;

    /// An access was made, perhaps only to get again to a state that was seen before. `path` is the schedule so far, with
    /// it as the last step.
    fn push(&mut self, performed: &Performed, path: &[Step]);

    /// The last access is taken back, which is still the last step of `path`.
    fn pop(&mut self, path: &[Step]);

    /// All accesses are taken back.
    fn restart(&mut self, path: &[Step]) {
        for steps in (1..=path.len()).rev() {
            self.pop(&path[..steps]);
        }
    }

    /// At the end of an execution: this thread would make this access if it did not wait.
    fn tried(&mut self, thread: usize, access: Access, path: &[Step]);

    /// An execution has ended that had not been seen before; `path` is its schedule.
    fn end(&mut self, end: End, path: &[Step]);

    /// In the execution that has ended, a thread stopped at a fault.
    fn fault(&mut self, thread: usize, fault: Fault, path: &[Step]);

    /// What the program says of the execution that has ended.
    fn outcome(&mut self, _outcome: Outcome, _path: &[Step]) {}

    /// An execution of a memory model has ended that had not been seen before; `sc` if it is sequentially consistent.
    fn weak_end(&mut self, _end: End, _sc: bool, _execution: &dyn WeakExecution) {}

    /// What the program says of it.
    fn weak_outcome(&mut self, _outcome: Outcome, _execution: &dyn WeakExecution) {}

    /// In an execution of a memory model a thread has stopped at a fault.
    fn weak_fault(&mut self, _thread: usize, _fault: Fault, _execution: &dyn WeakExecution) {}

    /// In an execution of a memory model these accesses, by their instructions, have a data race.
    fn weak_race(&mut self, _sites: (u32, u32), _execution: &dyn WeakExecution) {}

    /// Whether enough has been seen: then the search stops as soon as it can.
    fn enough(&self) -> bool {
        false
    }

    /// Everything seen since the last time. `path` has been left in place.
    fn take(&mut self, path: &[Step]) -> Self::Part;
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blind;

impl Observer for Blind {
    type Part = ();
    #[inline]
    fn push(&mut self, _: &Performed, _: &[Step]) {}
    #[inline]
    fn pop(&mut self, _: &[Step]) {}
    fn tried(&mut self, _: usize, _: Access, _: &[Step]) {}
    #[inline]
    fn end(&mut self, _: End, _: &[Step]) {}
    fn fault(&mut self, _: usize, _: Fault, _: &[Step]) {}
    fn take(&mut self, _: &[Step]) {}
}
