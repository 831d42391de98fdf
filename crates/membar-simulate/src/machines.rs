//! Simulated machines, one file each.
//!
//! A [`Machine`] runs a [`Program`] with a seed, which decides what moves next whenever there is a choice, and returns a
//! [`Run`]: the values read, and the cycles in which each operation was pending. Each obeys a memory model by construction,
//! unless one of its [`Bug`]s is switched on.
//!
//! ```
//! use membar_simulate::{Observe, Setup, machines, profile, trace};
//!
//! let program = profile::builtin("hot").unwrap().program(1).unwrap();
//! let setup: Setup = "mesi-tso+no-replay".parse().unwrap();
//! let run = setup.run(&program, 7);
//! let trace = trace(&program, &run.record, Some(&run.times), Observe::default()).unwrap();
//! assert_eq!(trace.len(), 4000);
//! assert!("mesi-tso+no-reply".parse::<Setup>().unwrap_err().to_string().contains("did you mean `no-replay`?"));
//! assert_eq!(machines::all().len(), 8);
//! ```

mod clock;
mod godson_t;
mod mesi_tso;
mod out_of_order;
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
    /// Every access acts on memory immediately.
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
    /// RISC-V harts that perform instructions out of order.
    Rvwmo,
    /// Arm cores that perform instructions out of order.
    Armv8,
}

/// All machines.
pub fn all() -> &'static [Machine] {
    &[
        Machine::Sc,
        Machine::Tso,
        Machine::Pso,
        Machine::Wmo,
        Machine::MesiTso,
        Machine::GodsonT,
        Machine::Rvwmo,
        Machine::Armv8,
    ]
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
            Machine::Rvwmo => "rvwmo",
            Machine::Armv8 => "armv8",
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
            Machine::Rvwmo => {
                "RISC-V harts out of order with caches, dependencies, forwarding, LR/SC, fences and aq/rl, sizes"
            }
            Machine::Armv8 => {
                "Arm cores out of order with caches, dependencies, forwarding, exclusives, DMB, LDAR, LDAPR, STLR, sizes"
            }
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
            Machine::Rvwmo => "rvwmo",
            Machine::Armv8 => "armv8",
        }
    }

    /// The built-in profile whose programs use what the machine has.
    pub fn profile(self) -> &'static str {
        match self {
            Machine::Rvwmo => "riscv",
            Machine::Armv8 => "arm",
            _ => "default",
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
            Machine::Rvwmo | Machine::Armv8 => &[
                Bug::NoReplay,
                Bug::IgnoredDependency,
                Bug::NarrowFence,
                Bug::IgnoredRelease,
                Bug::StaleReservation,
                Bug::SplitRmw,
                Bug::LostByteEnables,
                Bug::LostInvalidation,
                Bug::DroppedDirty,
            ],
        }
    }

    /// The store buffers that it usually has: a number of stores, and how soon they leave.
    pub fn buffer(self) -> Option<Buffer> {
        match self {
            Machine::Sc | Machine::Rvwmo | Machine::Armv8 => None,
            Machine::Tso | Machine::Pso | Machine::Wmo => Some(Buffer { depth: 8, drain: 4 }),
            Machine::MesiTso | Machine::GodsonT => Some(Buffer { depth: 8, drain: 1 }),
        }
    }

    /// Runs a program on the machine without bugs. Where threads wait for locks forever, the record holds what was executed.
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
    /// See [`Bug::about`].
    IgnoredDependency = 512,
    /// See [`Bug::about`].
    NarrowFence = 1024,
    /// See [`Bug::about`].
    IgnoredRelease = 2048,
    /// See [`Bug::about`].
    StaleReservation = 4096,
    /// See [`Bug::about`].
    LostByteEnables = 8192,
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
            Bug::IgnoredDependency => "ignored-dependency",
            Bug::NarrowFence => "narrow-fence",
            Bug::IgnoredRelease => "ignored-release",
            Bug::StaleReservation => "stale-reservation",
            Bug::LostByteEnables => "lost-byte-enables",
        }
    }

    /// The error in the machine, and how it shows.
    pub fn about(self) -> &'static str {
        match self {
            Bug::StaleForward => {
                "a load gets the oldest of several buffered stores to its address: a thread misses its own last store"
            }
            Bug::LostInvalidation => {
                "an invalidation is sometimes acknowledged and forgotten: the core keeps reading old values"
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
            Bug::IgnoredDependency => "an access does not wait for the load that its address comes from",
            Bug::NarrowFence => "a fence's successor set loses its loads: later loads overtake it",
            Bug::IgnoredRelease => "a release does not release: it overtakes what came before it",
            Bug::StaleReservation => {
                "a store of another hart leaves the reservation: an sc stores although the value has changed"
            }
            Bug::LostByteEnables => "a store of some bytes writes all of its word: its neighbours become 0",
        }
    }
}

/// How a machine's store buffers behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Buffer {
    /// How many stores one core's buffer holds, at most [`Buffer::DEEPEST`].
    pub depth: u32,
    /// On average one turn of a core in this many moves a store to memory although the core could do something else; at most
    /// [`Buffer::SLOWEST`]. A core that can do nothing else always drains, so large numbers keep buffers full.
    pub drain: u32,
}

impl Buffer {
    /// The largest depth.
    pub const DEEPEST: u32 = 4096;
    /// The slowest rate.
    pub const SLOWEST: u32 = 1_000_000;
}

/// A machine, its store buffers, and the bugs that are switched on. Its text form is `machine+bug+bug`, with `+buffer=64` and
/// `+drain=16` where the buffers are not the machine's usual ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Setup {
    machine: Machine,
    bugs: u16,
    buffer: Option<Buffer>,
}

impl From<Machine> for Setup {
    fn from(machine: Machine) -> Setup {
        Setup { machine, bugs: 0, buffer: machine.buffer() }
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

    /// Its store buffers, if it has any.
    pub fn buffer(self) -> Option<Buffer> {
        self.buffer
    }

    /// The same with buffers that hold this many stores.
    pub fn with_depth(self, depth: u32) -> Result<Setup, SetupError> {
        let buffer = self.buffer.ok_or(SetupError::NoBuffer(self.machine))?;
        let depth = in_range("buffer", depth, Buffer::DEEPEST)?;
        Ok(Setup { buffer: Some(Buffer { depth, ..buffer }), ..self })
    }

    /// The same with buffers that drain in one turn in this many.
    pub fn with_drain(self, drain: u32) -> Result<Setup, SetupError> {
        let buffer = self.buffer.ok_or(SetupError::NoBuffer(self.machine))?;
        let drain = in_range("drain", drain, Buffer::SLOWEST)?;
        Ok(Setup { buffer: Some(Buffer { drain, ..buffer }), ..self })
    }

    /// The depth, if it is not the machine's usual one.
    pub fn unusual_depth(self) -> Option<u32> {
        self.unusual(|buffer| buffer.depth)
    }

    /// The drain rate, if it is not the machine's usual one.
    pub fn unusual_drain(self) -> Option<u32> {
        self.unusual(|buffer| buffer.drain)
    }

    fn unusual(self, part: impl Fn(Buffer) -> u32) -> Option<u32> {
        let own = self.buffer.map(&part);
        own.filter(|_| own != self.machine.buffer().map(&part))
    }

    /// Runs a program. Where threads wait for locks forever, the record holds what was executed.
    pub fn run(self, program: &Program, seed: u64) -> Run {
        // Without a buffer no store waits, whatever these numbers are.
        let buffer = self.buffer.unwrap_or(Buffer { depth: 1, drain: 4 });
        match self.machine {
            Machine::Sc => window::run(program, sc::POLICY, buffer, seed),
            Machine::Tso => window::run(program, tso::POLICY, buffer, seed),
            Machine::Pso => window::run(program, pso::POLICY, buffer, seed),
            Machine::Wmo => window::run(program, wmo::POLICY, buffer, seed),
            Machine::MesiTso => mesi_tso::run(program, self, buffer, seed),
            Machine::GodsonT => godson_t::run(program, self, buffer, seed),
            Machine::Rvwmo | Machine::Armv8 => out_of_order::run(program, self, seed),
        }
    }
}

fn in_range(what: &'static str, value: u32, max: u32) -> Result<u32, SetupError> {
    if (1..=max).contains(&value) {
        Ok(value)
    } else {
        Err(SetupError::OutOfRange { what, value: value.to_string(), max })
    }
}

impl FromStr for Setup {
    type Err = SetupError;

    fn from_str(text: &str) -> Result<Setup, SetupError> {
        let number = |what, text: &str, max| {
            text.parse().map_err(|_| SetupError::OutOfRange { what, value: text.to_owned(), max })
        };
        let mut parts = text.split('+');
        let machine: Machine = parts.next().unwrap_or_default().parse()?;
        parts.try_fold(Setup::from(machine), |setup, part| match part.split_once('=') {
            Some(("buffer", depth)) => setup.with_depth(number("buffer", depth, Buffer::DEEPEST)?),
            Some(("drain", drain)) => setup.with_drain(number("drain", drain, Buffer::SLOWEST)?),
            _ => Ok(setup.with(part)?),
        })
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.machine.name())?;
        self.machine.bugs().iter().filter(|&&bug| self.has(bug)).try_for_each(|bug| write!(f, "+{}", bug.name()))?;
        self.unusual_depth().map_or(Ok(()), |depth| write!(f, "+buffer={depth}"))?;
        self.unusual_drain().map_or(Ok(()), |drain| write!(f, "+drain={drain}"))
    }
}

/// A setup that no machine has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SetupError {
    /// A name of a machine or a bug that does not exist.
    Unknown(UnknownName),
    /// This machine has no store buffer.
    NoBuffer(Machine),
    /// Not a number, or one out of range.
    OutOfRange {
        /// `buffer` or `drain`.
        what: &'static str,
        /// As it was given.
        value: String,
        /// The largest one.
        max: u32,
    },
}

impl From<UnknownName> for SetupError {
    fn from(unknown: UnknownName) -> SetupError {
        SetupError::Unknown(unknown)
    }
}

impl std::error::Error for SetupError {}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::Unknown(unknown) => unknown.fmt(f),
            SetupError::NoBuffer(machine) => {
                write!(f, "error: the machine `{}` has no store buffer to set", machine.name())
            }
            SetupError::OutOfRange { what, value, max } => {
                write!(f, "error: invalid {what} {}\n = help: give a number from 1 to {max}", quoted(value))
            }
        }
    }
}

/// An unknown name.
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

/// Runs a plain workload's program on a machine; the trace is resolved, its operations are in the order in which
/// they were committed.
pub fn simulate(workload: &Workload, setup: impl Into<Setup>, observe: Observe) -> Trace {
    let program = workload.program();
    let run = setup.into().run(&program, workload.seed);
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

    #[test]
    fn buffers_are_part_of_the_text_form_where_they_are_unusual() {
        for text in ["tso+buffer=64+drain=16", "pso+drain=1", "mesi-tso+no-replay+buffer=1", "godson-t+drain=2", "wmo"]
        {
            assert_eq!(text.parse::<Setup>().unwrap().to_string(), text);
        }
        assert_eq!("tso+buffer=8+drain=4".parse::<Setup>().unwrap(), Setup::from(Machine::Tso));
        let wrong = |text: &str| text.parse::<Setup>().unwrap_err().to_string();
        assert_eq!(wrong("sc+buffer=8"), "error: the machine `sc` has no store buffer to set");
        assert_eq!(wrong("tso+buffer=0"), "error: invalid buffer `0`\n = help: give a number from 1 to 4096");
        assert_eq!(wrong("tso+drain=-1"), "error: invalid drain `-1`\n = help: give a number from 1 to 1000000");
    }
}
