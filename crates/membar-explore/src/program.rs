//! What the explorer needs to know about a program.

use membar_core::{Access, Performed};

/// What a thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// It accesses memory. Whatever comes before, on its own registers, has been done.
    Access(Access),
    /// It has ended.
    Done,
    /// It cannot go on: [`Program::fault`] says why.
    Fault,
    /// It has run for longer than anybody wants to wait without an access. What it would do is not known.
    Long,
}

/// A waiting loop that a thread is about to go round again.
///
/// A round is *idle* if it begins and ends with the same registers and changes no memory. After an idle round that read
/// the values in `round`, the thread will do the same again, access by access, until it reads something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waiting<'a> {
    /// The accesses of the idle round, in order, as (address, value read). Empty if the thread is not waiting.
    pub round: &'a [(u32, u64)],
    /// How many of them the thread has repeated, with the same values, in the round it is in.
    pub repeated: usize,
}

impl Waiting<'_> {
    /// Whether the next access, if it reads what it read last time, ends the same round once more.
    #[inline]
    pub fn is_closing(&self) -> bool {
        self.repeated + 1 == self.round.len()
    }
}

/// Deterministic threads over one memory, one access a step.
///
/// What a thread does next depends on nothing but what its own accesses returned: that is what makes schedules
/// replayable and reductions sound.
pub trait Program {
    /// How many threads there are, at most [`MAX_THREADS`].
    fn threads(&self) -> usize;

    /// What the thread does next.
    fn next(&self, thread: usize) -> Next;

    /// The waiting loop that the thread is in, if it is in one.
    fn waiting(&self, thread: usize) -> Waiting<'_>;

    /// The value of an address now.
    fn value(&self, addr: u32) -> u64;

    /// Makes the next access of a thread whose [`Program::next`] is an access.
    fn step(&mut self, thread: usize) -> Performed;

    /// Takes back the last step.
    fn undo(&mut self);

    /// Adds everything that decides the future (memory and all threads) to `state`; two equal states have equal futures.
    fn state(&self, state: &mut Vec<u64>);

    /// Why the thread cannot go on, where [`Program::next`] says so.
    fn fault(&self, thread: usize) -> String;
}

/// The most threads that a program may have.
pub const MAX_THREADS: usize = 64;
