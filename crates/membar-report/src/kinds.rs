//! The words of the JSON schema that are a fixed set, each defined once for documents, text, pages and SARIF.
//!
//! A document with another word was not written by membar, or by a newer one; reading it says so.

use membar_core::{AccessKind, Named, OpKind, ProgramVerdict, VerdictKind, named};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;

named! {
    /// Kinds of notes about how a program was built and run.
    pub enum NoteKind {
        /// Assembly that is not seen.
        Assembly = "assembly",
        /// Something about a library.
        Library = "library",
        /// Code that is not instrumented.
        Opaque = "opaque",
        /// Memory that is not looked after.
        Memory = "memory",
        /// Accesses to parts of what is taken for one location.
        Parts = "parts",
        /// Steps inside atomic sections of other threads.
        Sections = "sections",
        /// A compiler's warning.
        Warning = "warning",
        /// A flag that was changed or ignored.
        Flag = "flag",
        /// An assumption stated by the user.
        Assumption = "assumption",
        /// Behaviour of threads that was not tried.
        Untried = "untried",
        /// A violation is allowed that is not there.
        Allow = "allow",
    }
}

named! {
    /// The question that a verdict answers.
    #[derive(Default)]
    pub enum Property {
        /// Is every execution sequentially consistent?
        #[default]
        Robust = "robust",
        /// Does any execution lead to a program error?
        Errors = "errors",
    }
}

named! {
    /// How a violation is allowed.
    pub enum AllowedBy {
        /// By a comment in the source.
        Comment = "comment",
        /// On the command line.
        Flag = "flag",
    }
}

named! {
    /// A step of an execution that fails.
    pub enum Action {
        /// Reads memory.
        Load = "load",
        /// Writes memory.
        Store = "store",
        /// Reads and writes memory at once.
        Rmw = "rmw",
        /// A fence.
        Fence = "fence",
        /// Takes a lock.
        Lock = "lock",
        /// Gives a lock back.
        Unlock = "unlock",
        /// Waits for another thread.
        Wait = "wait",
        /// Lets another thread continue.
        Wake = "wake",
        /// A thread begins or ends.
        Control = "control",
    }
}

/// What makes an access, if not the program's own C or C++.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Maker {
    /// Inline assembly, which has no memory orders.
    Assembly,
    /// The C++ library.
    Library,
}

named! {
    /// Kinds of errors that a program has whatever the memory model.
    pub enum ErrorKind {
        /// Threads wait for each other.
        Deadlock = "deadlock",
        /// Threads come back to where they were.
        Livelock = "livelock",
        /// A thread cannot continue.
        Fault = "fault",
        /// Two accesses that nothing orders, one of them not atomic.
        Race = "race",
        /// The condition of a litmus test does not hold.
        Condition = "condition",
    }
}

named! {
    /// A step of a machine with store buffers.
    pub enum StepKind {
        /// The thread makes the access; a store goes into its buffer.
        Issue = "issue",
        /// The store reaches memory.
        Commit = "commit",
    }
}

named! {
    /// The unit that one explored execution stands for.
    pub enum Unit {
        /// Itself.
        Interleaving = "interleaving",
        /// A happens-before class.
        Class = "class",
    }
}

named! {
    /// The monitor that examines executions.
    pub enum MonitorName {
        /// Burnim, Sen and Stergiou's for TSO.
        Tso = "tso",
        /// Theirs for PSO.
        Pso = "pso",
        /// Burckhardt and Musuvathi's, as published.
        Sober = "sober",
        /// The same over the standard definition of TSO.
        SoberFixed = "sober-fixed",
        /// Ours.
        Class = "class",
        /// None.
        None = "none",
    }
}

named! {
    /// Why monitoring ended before the interleaving did.
    pub enum MonitorStop {
        /// The time limit passed.
        Time = "time",
        /// The memory limit would be passed.
        Memory = "memory",
        /// The user interrupted.
        Interrupted = "interrupted",
        /// A violation was found, and one was enough.
        First = "first",
        /// The input could not be read any further.
        Input = "input",
        /// A thread has written more often than can be counted.
        Writes = "writes",
    }
}

named! {
    /// How strong a barrier has to be.
    pub enum Strength {
        /// It orders everything.
        Full = "full",
        /// It orders stores.
        StoreStore = "store-store",
    }
}

named! {
    /// Kinds of operations of a trace.
    pub enum OpName {
        /// A load.
        Load = "load",
        /// A store.
        Store = "store",
        /// A read-modify-write.
        Rmw = "rmw",
        /// A barrier.
        Barrier = "barrier",
        /// Taking a lock.
        Acquire = "acquire",
        /// Giving a lock back.
        Release = "release",
        /// A thread begins or ends.
        Control = "control",
    }
}

named! {
    /// The claim of a litmus test about its outcome.
    pub enum Claim {
        /// `exists`
        Allowed = "allowed",
        /// `~exists`
        Forbidden = "forbidden",
        /// `forall`
        Required = "required",
    }
}

named! {
    /// How often a proposition holds, of all executions.
    pub enum Observation {
        /// In none.
        Never = "never",
        /// In some.
        Sometimes = "sometimes",
        /// In all.
        Always = "always",
        /// Not all are known.
        Unknown = "unknown",
    }
}

named! {
    /// The unit that a litmus result counts.
    pub enum Counted {
        /// Executions.
        Executions = "executions",
        /// Final states.
        States = "states",
    }
}

named! {
    /// The answers that are shown in tables and on pages.
    #[derive(Default)]
    pub enum ShownVerdict {
        /// The model forbids the trace.
        Forbidden = "forbidden",
        /// The program is unsafe.
        Unsafe = "unsafe",
        /// The program fails under the model, or the claim of a litmus test is false.
        Fails = "fails",
        /// The program or the input is wrong.
        Error = "error",
        /// There is no answer.
        #[default]
        Undecided = "undecided",
        /// The model allows the trace.
        Allowed = "allowed",
        /// The program is safe.
        Safe = "safe",
        /// The claim of a litmus test is true.
        Holds = "holds",
        /// The outcome of a litmus test can happen.
        Possible = "possible",
        /// The outcome of a litmus test cannot happen.
        Impossible = "impossible",
        /// A schedule was run.
        Ran = "ran",
    }
}

impl From<OpKind> for OpName {
    fn from(kind: OpKind) -> OpName {
        match kind {
            OpKind::Load => OpName::Load,
            OpKind::Store => OpName::Store,
            OpKind::Rmw => OpName::Rmw,
            OpKind::Fence => OpName::Barrier,
            OpKind::Acquire => OpName::Acquire,
            OpKind::Release => OpName::Release,
        }
    }
}

impl From<AccessKind> for OpName {
    fn from(kind: AccessKind) -> OpName {
        match kind {
            AccessKind::Load => OpName::Load,
            AccessKind::Store => OpName::Store,
            AccessKind::Rmw => OpName::Rmw,
        }
    }
}

impl From<VerdictKind> for ShownVerdict {
    fn from(verdict: VerdictKind) -> ShownVerdict {
        match verdict {
            VerdictKind::Allowed => ShownVerdict::Allowed,
            VerdictKind::Forbidden => ShownVerdict::Forbidden,
            VerdictKind::Undecided => ShownVerdict::Undecided,
        }
    }
}

impl From<ProgramVerdict> for ShownVerdict {
    fn from(verdict: ProgramVerdict) -> ShownVerdict {
        match verdict {
            ProgramVerdict::Safe => ShownVerdict::Safe,
            ProgramVerdict::Unsafe => ShownVerdict::Unsafe,
            ProgramVerdict::Fails => ShownVerdict::Fails,
            ProgramVerdict::Error => ShownVerdict::Error,
            ProgramVerdict::Undecided => ShownVerdict::Undecided,
        }
    }
}

/// Writes the name.
pub(crate) fn serialize<T: Named, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(value.name())
}

/// Reads a name.
pub(crate) fn deserialize<'de, T: Named, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    known(&String::deserialize(from)?)
}

fn known<T: Named, E: Error>(text: &str) -> Result<T, E> {
    T::named(text).ok_or_else(|| {
        let shown: String = crate::style::safe(text).chars().take(40).collect();
        E::custom(format_args!("`{shown}` is not a word that membar writes there"))
    })
}

/// The same where it may be missing.
pub(crate) mod optional {
    use super::*;

    pub(crate) fn serialize<T: Named, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.serialize_some(value.name()),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, T: Named, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
        Option::<String>::deserialize(from)?.map(|text| known(&text)).transpose()
    }
}
