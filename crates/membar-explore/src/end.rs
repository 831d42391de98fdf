//! How executions end, and how many there were.

use crate::set::{Many, Set};
use crate::{Awaited, Program};

/// How an execution ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Every thread has ended (or stopped at a fault, or may wait forever).
    Complete,
    /// These threads wait for values that nobody will write, and should not ([`crate::Program::may_wait`]).
    Deadlock {
        /// Those threads.
        waiting: Many,
    },
    /// An assumption of the program does not hold ([`crate::Program::is_dropped`]): the execution counts for nothing.
    Dropped,
    /// The limit of steps was reached.
    Cut {
        /// The program came back to a state that it had been in, this many steps before.
        period: Option<u32>,
    },
}

impl End {
    /// No thread can run, and these threads wait.
    pub(crate) fn waiting(program: &impl Program, blocked: impl Set) -> End {
        if program.is_dropped() {
            return End::Dropped;
        }
        if is_stirred(program, blocked) {
            return End::Complete;
        }
        let must = |thread: &usize| !program.may_wait(*thread);
        let waiting = blocked.iter().filter(must).fold(Many::NONE, |waiting, thread| waiting | Many::one(thread));
        if waiting == Many::NONE { End::Complete } else { End::Deadlock { waiting } }
    }
}

/// Counts of the runs made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Executions that ended (or were cut), each a different one.
    pub executions: u64,
    /// Accesses made.
    pub events: u64,
    /// Executions given up because everything that could follow has been seen. Only dpor has them.
    pub redundant: u64,
    /// Executions that end with a thread stopped after an idle round which would have something else to read by now. Another
    /// execution stands for each of them. Only dpor has them.
    #[serde(default)]
    pub blocked: u64,
    /// Executions that reached the limit of steps.
    pub cut: u64,
    /// Executions in which an assumption of the program does not hold. A systematic search does not count them as executions.
    #[serde(default)]
    pub dropped: u64,
    /// Of the executions of a model: those that are not sequentially consistent.
    #[serde(default)]
    pub not_sc: u64,
    /// Whether a choice was left out because of the bound on preemptions.
    pub bounded: bool,
}

impl Counts {
    /// Executions that were run to their end, those that count for nothing included.
    pub fn runs(&self) -> u64 {
        self.executions + self.blocked + self.dropped
    }

    /// Adds others.
    pub fn add(&mut self, other: &Counts) {
        self.executions += other.executions;
        self.events += other.events;
        self.redundant += other.redundant;
        self.blocked += other.blocked;
        self.cut += other.cut;
        self.dropped += other.dropped;
        self.not_sc += other.not_sc;
        self.bounded |= other.bounded;
    }
}

/// Whether one of these threads, none of which can run, is parked, and would let another one run if it continued.
pub(crate) fn is_stirred(program: &impl Program, blocked: impl Set) -> bool {
    blocked
        .iter()
        .filter(|&thread| program.waiting(thread).parked)
        .any(|parked| blocked.iter().any(|other| other != parked && program.stirs(parked, other)))
}

/// Whether every read of the round would wait again.
pub(crate) fn unchanged(program: &impl Program, round: &[Awaited]) -> bool {
    round.iter().all(|awaited| awaited.blocks(program.value(awaited.addr)))
}
