//! What an exploration has shown, each thing once: violations, errors, and the executions asked for.
//!
//! Violations are told apart by the pair of instructions that causes them, errors by their kind. Of each the shortest schedule is
//! kept, and in how many of the explored executions it occurs. What workers and parts of a search have seen is added up.

use membar_core::ProgramModel;
use membar_explore::{Fault, Schedule, WeakSchedule};
use serde::{Deserialize, Serialize};

/// A violation, as the pair of instructions that causes it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Found {
    /// The model.
    #[serde(with = "model")]
    pub model: ProgramModel,
    /// The instruction of the store that is delayed.
    pub store_site: u32,
    /// The instruction of the access that overtakes it.
    pub access_site: u32,
    /// The shortest schedule that shows it. Its last step is the access, unless that is only tried.
    pub schedule: Schedule,
    /// The store, a step of the schedule.
    pub store: u32,
    /// The thread that makes the access.
    pub thread: u32,
    /// The thread waits in the SC execution and would make the access next.
    pub tried: bool,
    /// In how many of the explored executions it occurs.
    pub executions: u64,
}

mod model {
    use crate::Models;
    use membar_core::ProgramModel;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub fn serialize<S: Serializer>(model: &ProgramModel, to: S) -> Result<S::Ok, S::Error> {
        Models::from(*model).serialize(to)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<ProgramModel, D::Error> {
        Models::deserialize(from)?.iter().next().ok_or_else(|| D::Error::custom("no model"))
    }
}

/// Something that is wrong with the program whatever the memory model; but races count only where that was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProgramError {
    /// The error.
    pub kind: ErrorKind,
    /// The shortest schedule that shows it.
    pub schedule: Schedule,
    /// In how many of the explored executions it occurs.
    pub executions: u64,
}

/// An error in a program.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// These threads wait for values that nobody will write.
    Deadlock {
        /// The threads.
        threads: Vec<u32>,
    },
    /// The program comes back to a state that it was in, although every thread that can run has run.
    Livelock,
    /// These instructions have a data race, the smaller number first.
    Race {
        /// The instructions.
        sites: (u32, u32),
    },
    /// An execution ends in a way that must not be.
    Condition,
    /// A thread cannot continue.
    Fault {
        /// The thread.
        thread: u32,
        /// Why.
        why: Fault,
    },
}

impl ErrorKind {
    /// Whether the program is not known to be wrong: it could not be run.
    pub fn is_limit(&self) -> bool {
        matches!(self, ErrorKind::Fault { why, .. } if why.is_limit())
    }
}

/// Something that goes wrong in an execution of a memory model.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WeakError {
    /// The error.
    pub kind: ErrorKind,
    /// The shortest execution that shows it.
    pub schedule: WeakSchedule,
    /// In how many of the explored executions it was seen.
    pub executions: u64,
    /// What is not sequentially consistent about these executions: pairs of instructions ([`membar_explore::WeakExecution::missed`]).
    /// Only sets of which no other one is a part, and up to [`MAX_RESTS`] of them.
    #[serde(default)]
    pub rests: Vec<Vec<(u32, u32)>>,
}

/// An execution that ends in the way that a program asks about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Example<S> {
    /// An execution that ends like that.
    pub schedule: S,
    /// How many of the explored executions do.
    pub executions: u64,
}

impl<S> Example<S> {
    fn add(known: &mut Option<Example<S>>, other: Option<Example<S>>) {
        match (known, other) {
            (Some(known), Some(other)) => known.executions += other.executions,
            (known, other) => *known = known.take().or(other),
        }
    }
}

/// How many sets of pairs are kept for an error.
pub const MAX_RESTS: usize = 32;

impl WeakError {
    /// Adds a set of pairs, unless there is a part of it.
    pub(crate) fn rest_on(&mut self, pairs: Vec<(u32, u32)>) {
        let part = |one: &[(u32, u32)], other: &[(u32, u32)]| one.iter().all(|pair| other.contains(pair));
        if self.rests.iter().any(|mine| part(mine, &pairs)) {
            return;
        }
        self.rests.retain(|mine| !part(&pairs, mine));
        if self.rests.len() < MAX_RESTS {
            self.rests.push(pairs);
        }
    }
}

/// Everything seen.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Seen {
    /// Distinct violations.
    pub violations: Vec<Found>,
    /// Distinct errors.
    pub errors: Vec<ProgramError>,
    /// Distinct errors in executions of a memory model itself.
    #[serde(default)]
    pub weak_errors: Vec<WeakError>,
    /// An execution that ends in the way that the program asks about.
    #[serde(default)]
    pub asked: Option<Example<Schedule>>,
    /// The same of a memory model.
    #[serde(default)]
    pub weak_asked: Option<Example<WeakSchedule>>,
    /// Under C11: stores and accesses that might overtake them, as instructions, if bytes of an address are locations.
    #[serde(default)]
    pub unclear: Vec<(u32, u32)>,
    /// The monitor gave up on an execution because it was too long for it.
    pub too_long: bool,
    /// An execution that reached the limit of steps.
    #[serde(default)]
    pub cut: Option<Schedule>,
}

impl Seen {
    /// The first error that is not a program error but something that could not be run: then not everything has been looked at.
    pub fn limit(&self) -> Option<&ProgramError> {
        self.errors.iter().find(|error| error.kind.is_limit())
    }

    /// The same in executions of a memory model.
    pub fn weak_limit(&self) -> Option<&WeakError> {
        self.weak_errors.iter().find(|error| error.kind.is_limit())
    }

    /// Whether there is a violation or an error.
    pub fn has_found(&self) -> bool {
        // Threads that wait forever may be what comes of something that says more.
        let says_more = |error: &WeakError| !matches!(error.kind, ErrorKind::Deadlock { .. });
        !(self.violations.is_empty() && self.errors.is_empty()) || self.weak_errors.iter().any(says_more)
    }

    /// Adds the violations and errors among these that are not known yet. How many they are.
    pub fn add_unknown(&mut self, other: Seen) -> usize {
        let before = self.violations.len() + self.errors.len();
        for found in other.violations {
            if !self.violations.iter().any(|mine| mine.key() == found.key()) {
                self.violations.push(found);
            }
        }
        for error in other.errors {
            if !self.errors.iter().any(|mine| mine.kind == error.kind) {
                self.errors.push(error);
            }
        }
        self.violations.len() + self.errors.len() - before
    }

    /// Adds what was seen elsewhere.
    pub(crate) fn add(&mut self, other: Seen) {
        for found in other.violations {
            match self.violations.iter_mut().find(|mine| mine.key() == found.key()) {
                Some(mine) => {
                    let executions = mine.executions + found.executions;
                    if found.schedule.0.len() < mine.schedule.0.len() {
                        *mine = found;
                    }
                    mine.executions = executions;
                }
                None => self.violations.push(found),
            }
        }
        for error in other.errors {
            match self.errors.iter_mut().find(|mine| mine.kind == error.kind) {
                Some(mine) => {
                    let executions = mine.executions + error.executions;
                    if error.schedule.0.len() < mine.schedule.0.len() {
                        *mine = error;
                    }
                    mine.executions = executions;
                }
                None => self.errors.push(error),
            }
        }
        for error in other.weak_errors {
            match self.weak_errors.iter_mut().find(|mine| mine.kind == error.kind) {
                Some(mine) => {
                    mine.executions += error.executions;
                    if error.schedule.0.len() < mine.schedule.0.len() {
                        mine.schedule = error.schedule;
                    }
                    error.rests.into_iter().for_each(|pairs| mine.rest_on(pairs));
                }
                None => self.weak_errors.push(error),
            }
        }
        Example::add(&mut self.asked, other.asked);
        Example::add(&mut self.weak_asked, other.weak_asked);
        for pair in other.unclear {
            if !self.unclear.contains(&pair) {
                self.unclear.push(pair);
            }
        }
        self.too_long |= other.too_long;
        self.cut = self.cut.take().or(other.cut);
    }
}

impl Found {
    fn key(&self) -> Key {
        Key::Violation { model: self.model, store_site: self.store_site, access_site: self.access_site }
    }
}

/// What tells findings apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Key {
    Violation { model: ProgramModel, store_site: u32, access_site: u32 },
    Race { sites: (u32, u32) },
}
