//! Every command and flag.

use clap::{Args, Parser, Subcommand, ValueEnum};
use membar_check::Plan;
use membar_simulate::{Machine, Mix};
use std::path::PathBuf;

/// Measures the membar command.
#[derive(Parser, Debug)]
#[command(name = "membar-bench", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// One line per trace: time, memory, algorithm and verdict for every size
    Grid(Grid),
    /// Figures 6 to 8 of the TSOtool paper: % TOO found, analysis time, time against n, p and a
    Figures(Figures),
    /// Figures 4 and 5 of the MODV paper: locks and time, against the number of operations and cores
    Locks(Locks),
    /// Tests and operations until each bug of the simulated machines is found, for each profile
    Detect(Detect),
    /// Exploring programs: interleavings and classes per second, and what monitors add to that
    Explore(Explore),
    /// Explores one program once, for profilers
    Once(Once),
    /// `membar monitor`: events per second and memory against threads and length
    Monitor(Monitor),
    /// `membar litmus`: tests per second
    Litmus(Litmus),
    /// C and C++ programs: executions per second, the cost of a reset and of an event, memory, time to the first violation
    Native(Native),
    /// Executions of the models themselves: graphs per second beside classes per second, time to the first failing assertion
    Weak(Weak),
    /// Plans for many machines: what splitting costs, and the speed-up of up to 10,000 workers
    Scale(Scale),
    /// Makes the tables of docs/results.md: the benchmarks of the papers; exit code 1 if their shape does not agree
    Results(Results),
    /// Compares time and memory with what was promised; exit code 1 if something is missed
    Floors(Floors),
    /// Writes one trace, for measurements of your own
    Write(Write),
    /// Runs a program for another process of this one
    #[command(hide = true)]
    RunProgram,
    /// Writes many small traces into one file
    #[command(hide = true)]
    WriteSmall(WriteSmall),
    /// Writes one interleaving
    #[command(hide = true)]
    WriteInterleaving(WriteInterleaving),
    /// Decides traces as `membar check` does
    #[command(hide = true)]
    Check(Check),
    /// Reads text again and again and prints how fast
    #[command(hide = true)]
    Parse(Parse),
}

/// What the commands that measure `membar check` have in common.
#[derive(Args, Debug)]
pub struct Common {
    /// The membar to measure [default: the one next to this program, built first when cargo runs this]
    #[arg(long, value_name = "PATH", conflicts_with = "in_process")]
    pub membar: Option<PathBuf>,
    /// Measure the libraries in this program, without the membar command
    #[arg(long)]
    pub in_process: bool,
    #[command(flatten)]
    pub output: Output,
}

/// What `weak` explores.
#[derive(Args, Debug)]
pub struct Weak {
    /// C or C++ files to explore instead of the usual programs
    pub files: Vec<PathBuf>,
    /// Flags for the compiler, separated by spaces
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    pub flags: String,
    /// Compare the number of graphs of sc with that of classes, for all programs of the corpus; exit code 1 if there are fewer
    #[arg(long, conflicts_with = "files")]
    pub corpus: bool,
    /// Seconds that a search may take
    #[arg(long, default_value_t = 10)]
    pub time: u64,
    /// Explore these only: classes, sc, tso, pso, c11
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    #[command(flatten)]
    pub output: Output,
}

/// What `scale` splits.
#[derive(Args, Debug)]
pub struct Scale {
    /// The membar to measure [default: the one next to this program]
    #[arg(long, value_name = "PATH")]
    pub membar: Option<PathBuf>,
    /// Shards of each plan; of the search at most 64
    #[arg(long, default_value_t = 1000)]
    pub shards: u32,
    /// Tests of the campaign
    #[arg(long, default_value_t = 20_000)]
    pub tests: u64,
    #[command(flatten)]
    pub output: Output,
}

/// How results are shown and kept.
#[derive(Args, Debug)]
pub struct Output {
    /// Print tables as Markdown
    #[arg(long)]
    pub markdown: bool,
    /// Append the results to docs/benchmarks/DATE.md
    #[arg(long)]
    pub save: bool,
}

/// Which traces.
#[derive(Args, Debug)]
pub struct Sizes {
    /// Numbers of operations, such as 64K,1M [default: 64K,128K,256K,512K,1M]
    #[arg(long, value_delimiter = ',', value_parser = size)]
    pub n: Vec<u32>,
    /// Numbers of threads [default: 2,4,8,16,32]
    #[arg(long, value_delimiter = ',', value_parser = size)]
    pub p: Vec<u32>,
    /// Numbers of addresses [default: 4,16,64,256]
    #[arg(long, value_delimiter = ',', value_parser = size)]
    pub a: Vec<u32>,
    /// Fewer and smaller traces
    #[arg(long)]
    pub quick: bool,
}

impl Sizes {
    /// The sizes asked for, defaults filled in.
    pub fn n(&self) -> Vec<u32> {
        or(
            &self.n,
            if self.quick { &[64 << 10, 128 << 10] } else { &[64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20] },
        )
    }

    pub fn p(&self) -> Vec<u32> {
        or(&self.p, if self.quick { &[2, 8, 32] } else { &[2, 4, 8, 16, 32] })
    }

    pub fn a(&self) -> Vec<u32> {
        or(&self.a, if self.quick { &[4, 64] } else { &[4, 16, 64, 256] })
    }
}

fn or(given: &[u32], otherwise: &[u32]) -> Vec<u32> {
    if given.is_empty() { otherwise.to_vec() } else { given.to_vec() }
}

#[derive(Args, Debug)]
pub struct Grid {
    #[command(flatten)]
    pub sizes: Sizes,
    /// Machines to simulate; each trace is decided under that machine's model
    #[arg(long, value_enum, default_value_t = Machines::All)]
    pub machine: Machines,
    /// Mixes of operations
    #[arg(long, value_enum, default_value_t = Mixes::All)]
    pub mix: Mixes,
    /// Traces of each size
    #[arg(long, default_value_t = 1, value_name = "K")]
    pub seeds: u64,
    /// Replace one read's value in each trace
    #[arg(long)]
    pub corrupt: bool,
    /// Give the write order of every address
    #[arg(long)]
    pub orders: bool,
    /// Only the traces of many threads with deep store buffers, which otherwise come last if no size is given
    #[arg(long, conflicts_with_all = ["n", "p", "a", "machine", "mix"])]
    pub deep: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args, Debug)]
pub struct Figures {
    #[command(flatten)]
    pub sizes: Sizes,
    /// Machine to simulate
    #[arg(long, value_enum, default_value_t = MachineName::Tso)]
    pub machine: MachineName,
    /// Mix of operations
    #[arg(long, value_enum, default_value_t = MixName::Paper)]
    pub mix: MixName,
    /// Operations in figures 6 and 7
    #[arg(long, default_value = "128K", value_parser = size, value_name = "N")]
    pub at: u32,
    /// Traces of each size [default: 8 in figure 6 and 2 in the others; with --quick 2 and 1]
    #[arg(long, value_name = "K")]
    pub seeds: Option<u64>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args, Debug)]
pub struct Explore {
    /// Measure this often, all monitors in turn, and take the best of each
    #[arg(long, default_value_t = 5, value_name = "TIMES")]
    pub best_of: u32,
    /// Smaller programs, a few thousand executions of each
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args, Debug)]
pub struct Once {
    /// The program
    #[arg(value_enum)]
    pub program: ProgramName,
    /// Rounds, or threads of a ring
    pub size: u32,
    /// One execution of each happens-before class instead of all executions
    #[arg(long)]
    pub dpor: bool,
    /// The monitor that watches each execution
    #[arg(long, value_enum, default_value_t = WatcherName::None)]
    pub monitor: WatcherName,
    /// Stop after about this many executions
    #[arg(long, default_value_t = 2_000_000, value_name = "N")]
    pub most: u64,
}

/// A program to explore.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ProgramName {
    Ring,
    Peterson,
    Dekker,
    Bakery,
}

/// The monitor that watches each execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum WatcherName {
    Engine,
    None,
    ClassTso,
    ClassPso,
    Tso,
    Pso,
}

#[derive(Args, Debug)]
pub struct Locks {
    /// The most operations of a trace
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub most: u32,
    /// Seconds that the published algorithms get for one trace
    #[arg(long, default_value_t = 20, value_name = "SECONDS")]
    pub limit: u64,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args, Debug)]
pub struct Detect {
    /// Operations of each thread of a test
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub operations: u32,
    /// Tests of a round before it is given up
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub tests: u64,
    /// Rounds, each with its own seeds
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub rounds: u64,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args, Debug)]
pub struct Monitor {
    /// Events of the curve against threads
    #[arg(long, default_value = "1M", value_parser = size, value_name = "N")]
    pub at: u32,
    /// Numbers of events of the curve against length
    #[arg(long, default_value = "1M,2M,4M,8M", value_delimiter = ',', value_parser = size)]
    pub n: Vec<u32>,
    /// Numbers of threads
    #[arg(long, default_value = "2,4,8,16,32,64", value_delimiter = ',', value_parser = size)]
    pub p: Vec<u32>,
    /// Number of addresses
    #[arg(long, default_value = "256", value_parser = size)]
    pub a: u32,
    /// Measure this often and take the best
    #[arg(long, default_value_t = 5, value_name = "TIMES")]
    pub best_of: u32,
    /// The membar to measure [default: the one next to this program, built first when cargo runs this]
    #[arg(long, value_name = "PATH")]
    pub membar: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args, Debug)]
pub struct Litmus {
    /// A directory of tests [default: ../shared/data/litmus beside the repository, or else its corpus/litmus]
    pub directory: Option<PathBuf>,
    /// How often one process runs them all
    #[arg(long, default_value_t = 40, value_name = "TIMES")]
    pub passes: u32,
    /// Measure this often and take the best
    #[arg(long, default_value_t = 5, value_name = "TIMES")]
    pub best_of: u32,
    /// The membar to measure [default: the one next to this program, built first when cargo runs this]
    #[arg(long, value_name = "PATH")]
    pub membar: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args, Debug)]
pub struct Native {
    /// Measure this often and take the best
    #[arg(long, default_value_t = 3, value_name = "TIMES")]
    pub best_of: u32,
    /// One program, a few thousand executions
    #[arg(long)]
    pub quick: bool,
    /// The membar to measure [default: the one next to this program, built first when cargo runs this]
    #[arg(long, value_name = "PATH")]
    pub membar: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Args, Debug)]
pub struct Results {
    /// Only these programs; docs/results.md is not written then
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub only: Vec<String>,
    /// Seconds for an exploration
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub time: u64,
    /// Instead of the papers' tables, the programs of the corpus with and without reductions of the search
    #[arg(long)]
    pub corpus: bool,
    /// Processes that run the program
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub jobs: usize,
    /// The document; what it says around the tables stays
    #[arg(long, default_value = "docs/results.md", value_name = "FILE")]
    pub out: PathBuf,
    /// Print tables as Markdown
    #[arg(long)]
    pub markdown: bool,
}

#[derive(Args, Debug)]
pub struct Floors {
    /// Only these [default: all; with --in-process those that need no membar]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT")]
    pub only: Vec<Part>,
    /// Measure this often and take the best
    #[arg(long, default_value_t = 3, value_name = "TIMES")]
    pub best_of: u32,
    /// Divide every number of operations, traces and bytes by this, to try the command out
    #[arg(long, default_value_t = 1, value_name = "BY", hide = true)]
    pub scale_down: u32,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args, Debug)]
pub struct Write {
    /// Machine to simulate
    #[arg(long, value_enum, default_value_t = MachineName::Tso)]
    pub machine: MachineName,
    /// Mix of operations
    #[arg(long, value_enum, default_value_t = MixName::Paper)]
    pub mix: MixName,
    /// Number of operations, such as 128K
    #[arg(long, default_value = "128K", value_parser = size)]
    pub n: u32,
    /// Number of threads
    #[arg(long, default_value = "16", value_parser = size)]
    pub p: u32,
    /// Number of addresses
    #[arg(long, default_value = "256", value_parser = size)]
    pub a: u32,
    /// Another seed, another trace
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Store buffers of a simulated machine hold this many stores, and drain in one turn in as many
    #[arg(long, value_name = "STORES")]
    pub buffer: Option<u32>,
    /// With `order` lines
    #[arg(long)]
    pub orders: bool,
    /// With `final` lines
    #[arg(long)]
    pub finals: bool,
    /// Replace one read's value, chosen by this seed
    #[arg(long, value_name = "SEED")]
    pub corrupt: Option<u64>,
    /// Where to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(Args, Debug)]
pub struct WriteSmall {
    /// How many traces
    #[arg(long)]
    pub traces: u32,
    /// Where to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(Args, Debug)]
pub struct WriteInterleaving {
    /// Mix of operations
    #[arg(long, value_enum, default_value_t = MixName::LoadsStores)]
    pub mix: MixName,
    /// Number of events
    #[arg(long, value_parser = size)]
    pub n: u32,
    /// Number of threads
    #[arg(long, value_parser = size)]
    pub p: u32,
    /// Number of addresses
    #[arg(long, value_parser = size)]
    pub a: u32,
    /// Where to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

#[derive(Args, Debug)]
pub struct Check {
    /// The traces.
    pub file: PathBuf,
    /// The model.
    #[arg(long)]
    pub model: String,
    /// `axe` or `json`.
    #[arg(long)]
    pub format: String,
    /// In which order inference and search are tried.
    #[arg(long, value_enum, default_value_t = PlanName::Fast)]
    pub plan: PlanName,
}

#[derive(Args, Debug)]
pub struct Parse {
    /// A file; its contents are read again and again
    pub file: PathBuf,
    /// until this many bytes have been read.
    #[arg(long)]
    pub bytes: u64,
}

/// What floors are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Part {
    Check,
    Locks,
    Explore,
    Monitor,
    Litmus,
    Native,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MachineName {
    Sc,
    Tso,
    Pso,
    Wmo,
    /// This machine, for as many threads as it has cores; tso beyond that
    Real,
}

impl MachineName {
    pub fn machine(self) -> Machine {
        match self {
            MachineName::Sc => Machine::Sc,
            MachineName::Tso | MachineName::Real => Machine::Tso,
            MachineName::Pso => Machine::Pso,
            MachineName::Wmo => Machine::Wmo,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            MachineName::Real => "real",
            _ => self.model(),
        }
    }

    /// The model that it obeys.
    pub fn model(self) -> &'static str {
        match self {
            MachineName::Sc => "sc",
            MachineName::Tso | MachineName::Real => "tso",
            MachineName::Pso => "pso",
            MachineName::Wmo => "wmo",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MixName {
    /// 33.3 % loads, 33.3 % stores, 30 % read-modify-writes, 1.7 % barriers
    Paper,
    /// 60 % loads, 40 % stores
    LoadsStores,
    /// 40 % loads, 60 % stores
    StoresLoads,
    /// 60 % loads, 40 % read-modify-writes: no monitor ever finds anything
    Interlocked,
}

impl MixName {
    pub fn mix(self) -> Mix {
        match self {
            MixName::Paper => Mix::PAPER,
            MixName::LoadsStores => Mix::LOADS_STORES,
            MixName::StoresLoads => Mix { loads: 400, stores: 600, rmws: 0, fences: 0 },
            MixName::Interlocked => Mix { loads: 600, stores: 0, rmws: 400, fences: 0 },
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            MixName::Paper => "paper",
            MixName::LoadsStores => "loads-stores",
            MixName::StoresLoads => "stores-loads",
            MixName::Interlocked => "interlocked",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Machines {
    Tso,
    Pso,
    All,
}

impl Machines {
    pub fn list(self) -> &'static [MachineName] {
        match self {
            Machines::Tso => &[MachineName::Tso],
            Machines::Pso => &[MachineName::Pso],
            Machines::All => &[MachineName::Tso, MachineName::Pso],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Mixes {
    Paper,
    LoadsStores,
    All,
}

impl Mixes {
    pub fn list(self) -> &'static [MixName] {
        match self {
            Mixes::Paper => &[MixName::Paper],
            Mixes::LoadsStores => &[MixName::LoadsStores],
            Mixes::All => &[MixName::Paper, MixName::LoadsStores],
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PlanName {
    Fast,
    Paper,
}

impl PlanName {
    pub fn plan(self) -> Plan {
        match self {
            PlanName::Fast => Plan::Fast,
            PlanName::Paper => Plan::Paper,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            PlanName::Fast => "fast",
            PlanName::Paper => "paper",
        }
    }
}

/// `131072`, `128K` or `1M`.
fn size(text: &str) -> Result<u32, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    let number: u32 = digits.parse().map_err(|_| "expected a number such as 1000, 128K or 1M".to_owned())?;
    match number.checked_mul(unit) {
        Some(0) => Err("must be at least 1".to_owned()),
        Some(size) => Ok(size),
        None => Err("too large".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn flags_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_are_powers_of_two() {
        assert_eq!([size("128K"), size("1m"), size("17")], [Ok(131_072), Ok(1 << 20), Ok(17)]);
        assert!(["", "K", "0", "-1", "9999M", "1G"].iter().all(|text| size(text).is_err()));
    }
}
