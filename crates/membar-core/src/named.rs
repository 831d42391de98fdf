//! Fixed sets of words: verdicts, relations, rules. One definition for JSON, text, pages and SARIF.

use std::fmt;

/// One of a fixed set of words, which documents and messages use alike.
pub trait Named: Copy + 'static {
    /// All of them.
    const ALL: &'static [Self];

    /// The word.
    fn name(self) -> &'static str;

    /// The one with this name.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.name() == name)
    }
}

/// Defines an enum whose variants have names.
///
/// ```
/// membar_core::named! {
///     /// Where a sock belongs.
///     pub enum Foot {
///         /// This one.
///         Left = "left",
///         /// The other one.
///         Right = "right",
///     }
/// }
/// assert_eq!(Foot::Left.name(), "left");
/// assert_eq!(<Foot as membar_core::Named>::named("right"), Some(Foot::Right));
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* $public:vis enum $name:ident {
        $($(#[$doc:meta])* $variant:ident = $text:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        $public enum $name { $($(#[$doc])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Its name in documents and messages.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }

        impl $crate::Named for $name {
            const ALL: &'static [$name] = $name::ALL;

            fn name(self) -> &'static str {
                $name::name(self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

named! {
    /// A model's verdict on a trace.
    pub enum VerdictKind {
        /// The model allows it.
        Allowed = "allowed",
        /// The model forbids it.
        Forbidden = "forbidden",
        /// Not known within the limits.
        Undecided = "undecided",
    }
}

named! {
    /// The verdict on a program.
    pub enum ProgramVerdict {
        /// Every execution was explored, and each is sequentially consistent.
        Safe = "safe",
        /// There is an execution that is not sequentially consistent.
        Unsafe = "unsafe",
        /// Such an execution leads to a program error that sequential consistency rules out.
        Fails = "fails",
        /// There is no such execution, but the program is wrong in another way.
        Error = "error",
        /// Nothing was found, and not everything was explored.
        Undecided = "undecided",
    }
}

named! {
    /// The algorithm that decided a trace.
    pub enum Algorithm {
        /// A value that nobody wrote, or an initial value that the same thread had seen overwritten.
        Values = "values",
        /// The write order was given: A1-A7.
        Conflict = "conflict",
        /// A cycle of R1-R7.
        Rules = "rules",
        /// The heuristic found a total order at the first attempt.
        Too = "too",
        /// The search.
        Search = "search",
        /// The same with timestamps of one clock: only what was pending at one time is in question.
        Timed = "timed",
    }
}

named! {
    /// Why one event comes before another.
    pub enum Relation {
        /// Program order.
        Po = "po",
        /// Program order that the model keeps.
        Ppo = "ppo",
        /// The second reads what the first wrote.
        Rf = "rf",
        /// The second overwrites what the first wrote.
        Co = "co",
        /// The second overwrites what the first read.
        Fr = "fr",
        /// The second reads what the first wrote, and the first happens before it.
        Hb = "hb",
        /// The first had ended when the second began.
        Time = "time",
        /// The first started the second's thread.
        Start = "start",
        /// The second waited for the end of the first's thread.
        Join = "join",
    }
}

named! {
    /// The short names of [`crate::Rule`]s.
    pub enum RuleName {
        /// [`crate::Rule::LoadOp`]
        R1 = "R1",
        /// [`crate::Rule::StoreStore`]
        R2 = "R2",
        /// [`crate::Rule::Membar`]
        R3 = "R3",
        /// [`crate::Rule::ReadsFrom`]
        R4 = "R4",
        /// [`crate::Rule::OwnStore`]
        R5 = "R5",
        /// [`crate::Rule::BeforeRead`]
        R6 = "R6",
        /// [`crate::Rule::AfterRead`]
        R7 = "R7",
        /// [`crate::Rule::StoreLoad`]
        Sl = "SL",
        /// [`crate::Rule::WriteOrder`]
        A6 = "A6",
        /// [`crate::Rule::Init`]
        Init = "Init",
        /// [`crate::Rule::Final`]
        Final = "Final",
        /// [`crate::Rule::Lock`]
        Lock = "Lock",
        /// [`crate::Rule::Time`]
        Time = "Time",
        /// [`crate::Condition::AnotherStore`], a rule of RVWMO by number
        Ppo2 = "PPO2",
        /// [`crate::Condition::FromAtomic`], a rule of RVWMO by number
        Ppo3 = "PPO3",
        /// [`crate::Condition::EarlierAcquires`], a rule of RVWMO by number
        Ppo5 = "PPO5",
        /// [`crate::Condition::LaterReleases`], a rule of RVWMO by number
        Ppo6 = "PPO6",
        /// [`crate::Condition::ReleaseAcquire`], a rule of RVWMO by number
        Ppo7 = "PPO7",
        /// [`crate::Condition::Address`], a rule of RVWMO by number
        Ppo9 = "PPO9",
        /// [`crate::Condition::Data`], a rule of RVWMO by number
        Ppo10 = "PPO10",
        /// [`crate::Condition::Control`], a rule of RVWMO by number
        Ppo11 = "PPO11",
        /// [`crate::Condition::ThroughStore`], a rule of RVWMO by number
        Ppo12 = "PPO12",
        /// [`crate::Condition::PastAddress`], a rule of RVWMO by number
        Ppo13 = "PPO13",
        /// [`crate::Condition::PastIsb`], of Armv8's dob
        Isb = "ISB",
        /// [`crate::Condition::AcquireFromPair`], of Armv8's aob
        Aob = "AOB",
        /// [`crate::Rule::Assume`]
        Assume = "Assume",
        /// [`crate::Rule::Case`]
        Case = "Case",
    }
}

named! {
    /// The axioms that rules follow from.
    pub enum Axiom {
        /// Loads stay before later operations of their thread.
        LoadOp = "LoadOp",
        /// Stores of a thread take effect in program order.
        StoreStore = "StoreStore",
        /// A load does not overtake an earlier store of its thread.
        StoreLoad = "StoreLoad",
        /// A barrier keeps operations on its two sides in order.
        Membar = "Membar",
        /// A read returns the latest write to its address.
        Value = "Value",
        /// Writes take effect in the recorded order.
        WriteOrder = "WriteOrder",
        /// Operations around an acquire or a release keep their order.
        LockOrder = "LockOrder",
        /// An operation that ended before another began comes first.
        Time = "Time",
        /// Marks, dependencies and what was read keep operations of a thread in order.
        ProgramOrder = "ProgramOrder",
        /// Of two operations one comes first.
        Order = "Order",
    }
}

named! {
    /// How often a proposition held on a machine.
    pub enum Frequency {
        /// Never.
        Never = "Never",
        /// Not each time.
        Sometimes = "Sometimes",
        /// Each time.
        Always = "Always",
    }
}

/// Names for an enum that is defined elsewhere.
macro_rules! names {
    ($name:ty, $($variant:ident = $text:literal),*) => {
        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$(<$name>::$variant,)*];

            /// Its name in documents and messages.
            pub const fn name(self) -> &'static str {
                match self { $(<$name>::$variant => $text,)* }
            }
        }

        impl Named for $name {
            const ALL: &'static [$name] = <$name>::ALL;

            fn name(self) -> &'static str {
                <$name>::name(self)
            }
        }
    };
}

names!(crate::AccessKind, Load = "load", Store = "store", Rmw = "rmw");
names!(crate::Relaxation, Tso = "tso", Pso = "pso");
names!(crate::ProgramModel, Tso = "tso", Pso = "pso", C11 = "c11");
names!(crate::Compare, Nothing = "none", Threads = "local", Everything = "global");
names!(
    crate::Undecided,
    Time = "time",
    Memory = "memory",
    Interrupted = "interrupted",
    Parts = "parts",
    Repeated = "repeated",
    Sources = "sources",
    Torn = "torn"
);

impl fmt::Display for crate::AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for crate::ProgramModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for crate::Relaxation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
