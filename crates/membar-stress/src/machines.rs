//! Simulated machines, one file each.
//!
//! A [`Machine`] runs a [`Program`] with a seed, which decides what moves next whenever there is a choice, and returns a
//! [`Run`]: what was read, and the cycles in which each operation was pending. Each obeys a memory model by construction,
//! unless one of its [`Bug`]s is switched on.
//!
//! ```
//! use membar_stress::{Observe, Setup, machines, profile, trace};
//!
//! let program = profile::builtin("hot").unwrap().program(1).unwrap();
//! let setup: Setup = "mesi-tso+no-replay".parse().unwrap();
//! let run = setup.run(&program, 7);
//! let trace = trace(&program, &run.record, Some(&run.times), Observe::default()).unwrap();
//! assert_eq!(trace.len(), 4000);
//! assert!("mesi-tso+no-reply".parse::<Setup>().unwrap_err().to_string().contains("did you mean `no-replay`?"));
//! assert_eq!(machines::all().len(), 6);
//! ```

mod clock;
mod godson_t;
mod mesi_tso;
mod pso;
mod sc;
mod tso;
mod window;
mod wmo;

use crate::{Observe, Program, Run, Workload, trace};
use membar_core::{Trace, nearest, quoted};
use std::fmt;
use std::str::FromStr;

/// A simulated machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Machine {
    /// Every access acts on memory at once.
    Sc,
    /// One first-in first-out store buffer for each core.
    Tso,
    /// One first-in first-out store buffer for each core and address.
    Pso,
    /// The same, and instructions of a window in any order.
    Wmo,
    /// Private caches with a directory, store buffers, speculative loads.
    MesiTso,
    /// Caches that are coherent only through regions, on a shared memory.
    GodsonT,
}

/// All machines.
pub fn all() -> &'static [Machine] {
    &[Machine::Sc, Machine::Tso, Machine::Pso, Machine::Wmo, Machine::MesiTso, Machine::GodsonT]
}

impl Machine {
    /// Its name, as given to `--machine`.
    pub fn name(self) -> &'static str {
        match self {
            Machine::Sc => "sc",
            Machine::Tso => "tso",
            Machine::Pso => "pso",
            Machine::Wmo => "wmo",
            Machine::MesiTso => "mesi-tso",
            Machine::GodsonT => "godson-t",
        }
    }

    /// One line for listings.
    pub fn title(self) -> &'static str {
        match self {
            Machine::Sc => "every access acts on memory at once, in program order",
            Machine::Tso => "a first-in first-out store buffer for each core",
            Machine::Pso => "a first-in first-out store buffer for each core and address",
            Machine::Wmo => "store buffers as in pso, and instructions performed out of order",
            Machine::MesiTso => "private caches with a MESI directory, store buffers, speculative loads with replay",
            Machine::GodsonT => "caches coherent through lock regions over a shared memory, as in Godson-T",
        }
    }

    /// The name of the model that it implements.
    pub fn model(self) -> &'static str {
        match self {
            Machine::Sc => "sc",
            Machine::Tso | Machine::MesiTso => "tso",
            Machine::Pso => "pso",
            Machine::Wmo => "wmo",
            Machine::GodsonT => "scope",
        }
    }

    /// The bugs that can be switched on.
    pub fn bugs(self) -> &'static [Bug] {
        match self {
            Machine::Sc | Machine::Tso | Machine::Pso | Machine::Wmo => &[],
            Machine::MesiTso => &[
                Bug::StaleForward,
                Bug::LostInvalidation,
                Bug::LateInvalidation,
                Bug::NoReplay,
                Bug::UnorderedDrain,
                Bug::IdleFence,
                Bug::SplitRmw,
                Bug::DroppedDirty,
            ],
            Machine::GodsonT => &[Bug::StaleRegion],
        }
    }

    /// Runs a program on the machine without bugs. Where threads wait for locks for ever, the record holds what was executed.
    pub fn run(self, program: &Program, seed: u64) -> Run {
        Setup::from(self).run(program, seed)
    }
}

impl FromStr for Machine {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Machine, UnknownName> {
        let machine = all().iter().copied().find(|machine| machine.name() == name);
        machine.ok_or_else(|| UnknownName::new("machine", name, all().iter().map(|machine| machine.name())))
    }
}

/// A fault that can be switched on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u16)]
pub enum Bug {
    /// See [`Bug::about`].
    StaleForward = 1,
    /// See [`Bug::about`].
    LostInvalidation = 2,
    /// See [`Bug::about`].
    LateInvalidation = 4,
    /// See [`Bug::about`].
    NoReplay = 8,
    /// See [`Bug::about`].
    UnorderedDrain = 16,
    /// See [`Bug::about`].
    IdleFence = 32,
    /// See [`Bug::about`].
    SplitRmw = 64,
    /// See [`Bug::about`].
    DroppedDirty = 128,
    /// See [`Bug::about`].
    StaleRegion = 256,
}

impl Bug {
    /// Its name, as given to `--bug`.
    pub fn name(self) -> &'static str {
        match self {
            Bug::StaleForward => "stale-forward",
            Bug::LostInvalidation => "lost-invalidation",
            Bug::LateInvalidation => "late-invalidation",
            Bug::NoReplay => "no-replay",
            Bug::UnorderedDrain => "unordered-drain",
            Bug::IdleFence => "idle-fence",
            Bug::SplitRmw => "split-rmw",
            Bug::DroppedDirty => "dropped-dirty",
            Bug::StaleRegion => "stale-region",
        }
    }

    /// What is wrong in the machine, and how it shows.
    pub fn about(self) -> &'static str {
        match self {
            Bug::StaleForward => {
                "a load gets the oldest of several buffered stores to its address: a thread misses its own last store"
            }
            Bug::LostInvalidation => {
                "an invalidation is acknowledged and forgotten while the core waits for another line: it goes on reading old values"
            }
            Bug::LateInvalidation => {
                "an invalidation is acknowledged at once and done later: for a while the core reads old values"
            }
            Bug::NoReplay => {
                "a load that was done early keeps its value when its line is invalidated: loads out of order"
            }
            Bug::UnorderedDrain => {
                "a store whose line is at hand leaves the buffer before older ones: stores out of order"
            }
            Bug::IdleFence => "a full barrier does not wait for the store buffer: it orders nothing",
            Bug::SplitRmw => "an atomic writes some time after it has read: another store gets in between",
            Bug::DroppedDirty => "a modified line that is evicted is not always written back: a store disappears",
            Bug::StaleRegion => {
                "a copy that a region has read stays when another core writes: it reads an old value after others saw the new one"
            }
        }
    }
}

/// A machine with some of its bugs switched on. Its text form is `machine+bug+bug`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Setup {
    machine: Machine,
    bugs: u16,
}

impl From<Machine> for Setup {
    fn from(machine: Machine) -> Setup {
        Setup { machine, bugs: 0 }
    }
}

impl Setup {
    /// The machine.
    pub fn machine(self) -> Machine {
        self.machine
    }

    /// Is this bug switched on?
    #[inline]
    pub fn has(self, bug: Bug) -> bool {
        self.bugs & bug as u16 != 0
    }

    /// The same with one more bug, by its name.
    pub fn with(self, bug: &str) -> Result<Setup, UnknownName> {
        let known = self.machine.bugs();
        match known.iter().find(|known| known.name() == bug) {
            Some(&bug) => Ok(Setup { bugs: self.bugs | bug as u16, ..self }),
            None => Err(UnknownName::new("bug", bug, known.iter().map(|bug| bug.name())).of(self.machine)),
        }
    }

    /// Runs a program. Where threads wait for locks for ever, the record holds what was executed.
    pub fn run(self, program: &Program, seed: u64) -> Run {
        match self.machine {
            Machine::Sc => window::run(program, sc::POLICY, seed),
            Machine::Tso => window::run(program, tso::POLICY, seed),
            Machine::Pso => window::run(program, pso::POLICY, seed),
            Machine::Wmo => window::run(program, wmo::POLICY, seed),
            Machine::MesiTso => mesi_tso::run(program, self, seed),
            Machine::GodsonT => godson_t::run(program, self, seed),
        }
    }
}

impl FromStr for Setup {
    type Err = UnknownName;

    fn from_str(text: &str) -> Result<Setup, UnknownName> {
        let mut parts = text.split('+');
        let machine: Machine = parts.next().unwrap_or_default().parse()?;
        parts.try_fold(Setup::from(machine), |setup, bug| setup.with(bug))
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.machine.name())?;
        self.machine.bugs().iter().filter(|&&bug| self.has(bug)).try_for_each(|bug| write!(f, "+{}", bug.name()))
    }
}

/// A name that is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownName {
    /// `machine` or `bug`.
    pub what: &'static str,
    /// The name that was given.
    pub name: String,
    /// The machine that has no such bug.
    pub machine: Option<Machine>,
    /// The names that there are.
    pub known: Vec<&'static str>,
}

impl UnknownName {
    fn new(what: &'static str, name: &str, known: impl Iterator<Item = &'static str>) -> UnknownName {
        UnknownName { what, name: name.to_owned(), machine: None, known: known.collect() }
    }

    fn of(self, machine: Machine) -> UnknownName {
        UnknownName { machine: Some(machine), ..self }
    }
}

impl std::error::Error for UnknownName {}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = quoted(&self.name);
        match self.machine {
            Some(machine) => write!(f, "error: the machine `{}` has no {} {name}", machine.name(), self.what)?,
            None => write!(f, "error: there is no {} {name}", self.what)?,
        }
        match (self.known.is_empty(), nearest(&self.name, self.known.iter().copied())) {
            (true, _) => write!(f, "\n = it has none"),
            (false, Some(meant)) => write!(f, "\n = help: did you mean `{meant}`?"),
            (false, None) => write!(f, "\n = help: there are {}", self.known.join(", ")),
        }
    }
}

/// Runs a plain workload's program on a machine without bugs; the trace is resolved, its operations are in the order in which
/// they were committed.
pub fn simulate(workload: &Workload, machine: Machine, observe: Observe) -> Trace {
    let program = workload.program();
    let run = machine.run(&program, workload.seed);
    match trace(&program, &run.record, None, observe) {
        Ok(trace) => trace,
        // Values are unique by construction, and a machine without bugs writes each of them once.
        Err(error) => unreachable!("{error:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_misspelt_ones_explained() {
        for &machine in all() {
            assert_eq!(machine.name().parse::<Machine>().unwrap(), machine);
            for bug in machine.bugs() {
                let text = format!("{}+{}", machine.name(), bug.name());
                let setup: Setup = text.parse().unwrap();
                assert_eq!((setup.to_string(), setup.has(*bug)), (text, true));
                assert!(!bug.about().is_empty());
            }
            assert!(!machine.title().is_empty());
        }
        let wrong = |text: &str| text.parse::<Setup>().unwrap_err().to_string();
        assert_eq!(wrong("tos"), "error: there is no machine `tos`\n = help: did you mean `tso`?");
        assert_eq!(wrong("tso+no-replay"), "error: the machine `tso` has no bug `no-replay`\n = it has none");
        assert!(wrong("mesi-tso+slow").contains("there are stale-forward, lost-invalidation"));
    }
}
