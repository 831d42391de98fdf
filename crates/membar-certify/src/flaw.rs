//! Flaws in a certificate.

use membar_core::{AddrId, Event, OpId, Read};
use std::fmt;

/// An error in a certificate. Each is a bug in the code that made it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// The order's entry is not an operation of the trace, or a barrier.
    NotMemory {
        /// Index into the order.
        place: usize,
        /// The text there.
        op: OpId,
    },
    /// The order has the operation twice.
    Twice(OpId),
    /// The order lacks the operation.
    Missing(OpId),
    /// The order reverses two operations of one thread that the model, a barrier, or the thread's own clock keeps.
    ProgramOrder {
        /// Earlier in program order, later in the witness.
        earlier: OpId,
        /// Later in program order.
        later: OpId,
    },
    /// The order reverses two operations of which one ended before the other began, by the clock of all threads.
    Time {
        /// It ended first, and is later in the witness.
        earlier: OpId,
        /// It began after that.
        later: OpId,
    },
    /// The read recorded another value than this order gives it.
    Value {
        /// The read.
        read: OpId,
        /// The value it would return.
        gives: u64,
    },
    /// The store finds another write's value than its thread's reservation lets it.
    Reservation {
        /// The store.
        store: OpId,
        /// The value that it finds.
        finds: u64,
    },
    /// Two pieces of one access are not neighbours.
    Pieces {
        /// The one.
        first: OpId,
        /// The next.
        second: OpId,
    },
    /// The store conditional stored without a reservation.
    Unreserved(OpId),
    /// The operation is not a store conditional that stored without a reservation.
    NotUnreserved(OpId),
    /// There is no write order, and what the read returned is overwritten before it.
    Overwritten {
        /// The read.
        read: OpId,
        /// After the write that it returned, and before the read.
        by: OpId,
    },
    /// There is no write order, and what is recorded as the final value is overwritten.
    FinalOverwritten {
        /// The address.
        addr: AddrId,
        /// After the write of that value.
        by: OpId,
    },
    /// The order leaves another value at the end than was recorded.
    FinalValue {
        /// The address.
        addr: AddrId,
        /// The value that the order leaves.
        gives: u64,
    },
    /// The write is not the next one of its address's `order` line.
    WriteOrder(OpId),
    /// The operation comes directly after another on its lock, which is not how the two pair up.
    Lock {
        /// The operation.
        op: OpId,
        /// The one before it on that lock ([`Event::INIT`]: it is the first).
        after: Event,
    },
    /// The operation read a value that is written, or initial, or it is not a read of a recorded value.
    NotUnwritten(OpId),
    /// Not an address whose recorded final value nobody writes.
    NotUnwrittenFinal(AddrId),
    /// The cases are not all sources that the read can have, or it is not a read of a trace with repeated values.
    Cases(Read),
    /// The trace has repeated values, and the model no write order.
    OpenModel,
    /// The proof has no lemma.
    NoLemma,
    /// The last lemma assumes something.
    Conditional,
    /// The assumption is not about two different writes of one address; where there is no write order, of one lock.
    Assumption {
        /// Index of the lemma.
        lemma: usize,
        /// Index of the assumption.
        index: usize,
    },
    /// The step does not follow.
    Step {
        /// Index of the lemma.
        lemma: usize,
        /// Index of the step.
        step: usize,
        /// Why not.
        reason: Reason,
    },
    /// There is no write order, and R7 says only what is not before the read: the step has to be in the cycle, once, and the
    /// only one of its sort there.
    NotBefore {
        /// Index of the lemma.
        lemma: usize,
        /// Index of the step.
        step: usize,
    },
    /// The cycle is empty, names no step at this place, or is broken after it.
    Cycle {
        /// Index of the lemma.
        lemma: usize,
        /// Index into the cycle.
        place: usize,
    },
}

/// Why a step does not follow by its rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// An event is not an operation of the trace, is a barrier, or is an end where an operation has to be.
    Event,
    /// A premise is not an earlier step.
    Premise,
    /// The premises are not a path between the right events.
    Path,
    /// The two are not an earlier and a later operation of one thread.
    ProgramOrder,
    /// The model does not keep this pair in order, or lacks the axiom behind the rule.
    Model,
    /// No barrier with this pair in its mask is there.
    Barrier,
    /// The write is not what the read returned.
    Source,
    /// A thread may read its own store early.
    Forwarded,
    /// The rule needs another write to the read's address.
    OtherWrite,
    /// No `order` line lists the two writes in this order.
    WriteOrder,
    /// Neither is an acquire or a release.
    Lock,
    /// The condition does not hold for the two.
    Condition,
    /// The first did not end before the second began, by clocks that can be compared, or was not done at its end.
    Time,
    /// A premise only says what is not before something.
    NotBefore,
    /// It is not what the lemma assumes.
    Assume,
    /// The other lemma is not earlier, or does not refute the opposite under what is assumed here.
    Case,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Event => "an event is not an operation in memory order",
            Reason::Premise => "a premise is not an earlier step",
            Reason::Path => "the premises are not the path that the rule needs",
            Reason::ProgramOrder => "the two are not in program order",
            Reason::Model => "the model does not say so",
            Reason::Barrier => "no barrier between the two orders them",
            Reason::Source => "the write is not what the read returned",
            Reason::Forwarded => "a thread may read its own store early",
            Reason::OtherWrite => "the rule needs another write to the read's address",
            Reason::WriteOrder => "no `order` line says so",
            Reason::Lock => "neither is an acquire or a release",
            Reason::Condition => "the condition does not hold for the two",
            Reason::Time => "the first was not done, by the clock, before the second began",
            Reason::NotBefore => "a premise only says what is not before something",
            Reason::Assume => "the lemma does not assume this",
            Reason::Case => "the other lemma does not refute the opposite here",
        })
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Flaw::NotMemory { place, op } => write!(f, "entry {place}, op{}, has no place in a memory order", op.0),
            Flaw::Twice(op) => write!(f, "op{} is in the order twice", op.0),
            Flaw::Missing(op) => write!(f, "op{} is not in the order", op.0),
            Flaw::ProgramOrder { earlier, later } => {
                write!(f, "op{} has to come before op{}, later in its thread", earlier.0, later.0)
            }
            Flaw::Time { earlier, later } => {
                write!(f, "op{} has to come before op{}, which began after it ended", earlier.0, later.0)
            }
            Flaw::Reservation { store, finds } => {
                write!(f, "op{} overwrites {finds}, which its thread's reservation rules out", store.0)
            }
            Flaw::Pieces { first, second } => {
                write!(f, "op{} and op{}, pieces of one access, are not neighbours", first.0, second.0)
            }
            Flaw::Unreserved(op) => write!(f, "op{} stored without a reservation", op.0),
            Flaw::NotUnreserved(op) => write!(f, "op{} is not a store without a reservation", op.0),
            Flaw::Overwritten { read, by } => {
                write!(f, "op{} overwrites what op{} returned, and is before it", by.0, read.0)
            }
            Flaw::FinalOverwritten { addr, by } => {
                write!(f, "op{} overwrites the final value of address {}", by.0, addr.0)
            }
            Flaw::Value { read, gives } => {
                write!(f, "op{} read another value than {gives}, which this order gives it", read.0)
            }
            Flaw::FinalValue { addr, gives } => {
                write!(f, "this order leaves {gives} in address {}, not its final value", addr.0)
            }
            Flaw::WriteOrder(op) => write!(f, "op{} is not the next write of its `order` line", op.0),
            Flaw::Lock { op, after: Event::INIT } => write!(f, "op{} releases a lock that nobody has taken", op.0),
            Flaw::Lock { op, after } => write!(f, "op{} cannot be next after {after:?} on their lock", op.0),
            Flaw::NotUnwritten(op) => write!(f, "op{} did not read a value that nobody writes", op.0),
            Flaw::NotUnwrittenFinal(addr) => {
                write!(f, "address {} has no final value that nobody writes", addr.0)
            }
            Flaw::Cases(read) => write!(f, "the cases of {read:?} are not its possible sources"),
            Flaw::OpenModel => f.write_str("values are repeated, and the model has no write order"),
            Flaw::NoLemma => f.write_str("the proof is empty"),
            Flaw::Conditional => f.write_str("the last lemma assumes something"),
            Flaw::Assumption { lemma, index } => {
                write!(f, "lemma {lemma}: assumption {index} is not about two writes of one address")
            }
            Flaw::Step { lemma, step, reason } => write!(f, "lemma {lemma}, step {step}: {reason}"),
            Flaw::NotBefore { lemma, step } => {
                write!(
                    f,
                    "lemma {lemma}, step {step}: it only says what is not before a read, and has to close the cycle"
                )
            }
            Flaw::Cycle { lemma, place } => write!(f, "lemma {lemma}: no closed cycle (at its entry {place})"),
        }
    }
}

impl std::error::Error for Flaw {}
