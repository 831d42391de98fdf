//! Every command and flag, in one place: help, man pages and completions come from here.

use crate::quantity;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Memory consistency: checks recorded executions, verifies programs.
#[derive(Parser, Debug)]
#[command(
    name = "membar",
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  membar demo                              what this tool does, in under a minute
  membar check run.trace                   is this execution allowed by tso?
  membar check --model sc --model tso *.trace
  simulator | membar check -               answers each trace as its `check` line arrives
  membar shrink run.trace -o small.trace   the smallest part that is still forbidden
  membar verify dekker.c                   does this program stay sequentially consistent on tso?
  membar litmus --model pso SB.litmus      every final state
  membar simulate --machine mesi-tso --bug no-replay
                                           random programs on a machine with a bug, every result checked
  membar gen --as c > test.c               a random program for another machine, which prints a trace

Exit codes: 0 everything allowed or safe, 1 something forbidden or unsafe, 2 bad usage or input, 3 undecided."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// When to use colours.
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", global = true)]
    pub color: Color,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Decide whether a memory model allows recorded executions
    Check(Check),
    /// Cut a forbidden trace down to the smallest part that is still forbidden
    Shrink(Shrink),
    /// Find out whether a program stays sequentially consistent under TSO or PSO
    Verify(Verify),
    /// Run one schedule of a program again, step by step
    Replay(Replay),
    /// Compile C for `membar verify`, in place of the compiler of a build
    Cc(Compile),
    /// Compile C++ for `membar verify`, in place of the compiler of a build
    #[command(name = "c++")]
    Cxx(Compile),
    /// Run a program for another process of membar
    #[command(hide = true)]
    RunProgram,
    /// List all final states of litmus tests, in herd's layout
    Litmus(Litmus),
    /// Follow a recorded sequentially consistent interleaving and find where TSO or PSO can leave it
    Monitor(Monitor),
    /// Run random programs, or litmus tests, on this machine's cores and check every result
    Stress(Stress),
    /// Run random programs on simulated machines, with or without bugs, and check what they do
    Simulate(Simulate),
    /// Write random programs as C, as litmus tests or as text, or traces of simulated machines
    Gen(Gen),
    /// List the built-in memory models, or show one as the file it is
    Models(Models),
    /// See what this tool does, with embedded examples
    Demo(Demo),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  membar completions bash > ~/.local/share/bash-completion/completions/membar
  membar completions fish > ~/.config/fish/completions/membar.fish")]
    Completions {
        /// The shell.
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page of membar or of one of its commands
    #[command(after_help = "\
Examples:
  membar man | man -l -
  membar man check > membar-check.1")]
    Man {
        /// A command; without it the page of membar itself.
        #[arg(value_name = "COMMAND")]
        command: Option<String>,
    },
}

/// `membar check`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar check run.trace                        tso is the default model
  membar check --model sc --model tso *.trace   a table: one row a trace, one column a model
  membar check --model my-model.toml run.trace  a model of your own
  membar check --model scope --clock global --sampled-every 600 run.trace
                                                timestamps of one clock, from scans every 600 cycles
  simulator | membar check -                    answers each trace as its `check` line arrives
  membar check --html report.html run.trace     also a page that explains the answer
  membar check --format json run.trace.gz       verdicts with proofs, for programs
  membar check --format axe - < tests.axe       OK or NO, one line a trace

Every verdict is checked again by a second, independent program part before it is printed.
Exit codes: 0 all allowed, 1 something forbidden, 2 bad usage or input, 3 undecided.")]
pub struct Check {
    /// Trace files, also .gz and .zst; `-` is standard input.
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,

    /// Memory model: a built-in name (see `membar models`) or the path of a .toml file; may be repeated [default: tso]
    #[arg(short, long = "model", value_name = "MODEL")]
    pub models: Vec<String>,

    /// How results are written: for people, as JSON with proofs, or as axe's OK/NO lines.
    #[arg(short, long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub format: Format,

    /// Also write a report for a browser to this file: one page with every view of every answer.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// After a malformed trace, go on with the next one of its file.
    #[arg(short, long)]
    pub keep_going: bool,

    #[command(flatten)]
    pub clock: ClockArgs,

    #[command(flatten)]
    pub limits: LimitArgs,

    /// Decide this many traces at the same time; results stay in order.
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,

    /// Say nothing about allowed traces.
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Show a memory order for each allowed trace (twice: all of it, however long).
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// What the timestamps of traces mean.
#[derive(Args, Debug, Clone, Copy)]
pub struct ClockArgs {
    /// Which operations can be compared by their timestamps (`@ begin:end`).
    #[arg(long, value_enum, default_value_t = ClockScope::Local, value_name = "CLOCK")]
    pub clock: ClockScope,

    /// How far a timestamp may be off: every period is widened by this on both sides.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub clock_error: u64,

    /// Timestamps are those of scans, this far apart: an event happened up to so long before the scan that saw it. An
    /// operation without a timestamp lies between its neighbours.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub sampled_every: Option<u64>,
}

/// Which operations can be compared by their timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ClockScope {
    /// All: there is one clock
    Global,
    /// Those of one thread: each thread has its own clock
    Local,
    /// None: timestamps are ignored
    None,
}

impl ClockArgs {
    /// As the library says it.
    pub fn clock(self) -> membar::core::Clock {
        use membar::core::Compare;
        let compare = match self.clock {
            ClockScope::Global => Compare::Everything,
            ClockScope::Local => Compare::Threads,
            ClockScope::None => Compare::Nothing,
        };
        membar::core::Clock { compare, error: self.clock_error, sampled_every: self.sampled_every }
    }

    /// As they can be typed, with a blank before them; nothing where they say nothing.
    pub fn typed(self) -> String {
        let mut text = match self.clock {
            ClockScope::Global => " --clock global".to_owned(),
            ClockScope::Local => String::new(),
            ClockScope::None => " --clock none".to_owned(),
        };
        if self.clock_error > 0 {
            text.push_str(&format!(" --clock-error {}", self.clock_error));
        }
        if let Some(every) = self.sampled_every {
            text.push_str(&format!(" --sampled-every {every}"));
        }
        text
    }
}

/// Limits of one decision.
#[derive(Args, Debug)]
pub struct LimitArgs {
    /// Time for one input and model: 500ms, 10s, 2m, or none.
    #[arg(long, default_value = "60s", value_name = "LIMIT", value_parser = TimeParser)]
    pub time: Time,

    /// Memory for one of them: 512MB, 4GiB, or none.
    #[arg(long, default_value = "8GiB", value_name = "LIMIT", value_parser = MemoryParser)]
    pub memory: Memory,
}

/// A time limit.
#[derive(Clone, Copy, Debug)]
pub struct Time(pub Option<Duration>);

/// A memory limit.
#[derive(Clone, Copy, Debug)]
pub struct Memory(pub Option<usize>);

#[allow(non_upper_case_globals)]
const TimeParser: fn(&str) -> Result<Time, String> = |text| quantity::time(text).map(Time);
#[allow(non_upper_case_globals)]
const MemoryParser: fn(&str) -> Result<Memory, String> = |text| quantity::memory(text).map(Memory);

/// `membar shrink`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar shrink run.trace                         the first forbidden trace of the file, under tso
  membar shrink run.trace --trace 17 --model pso  the 17th trace
  membar shrink run.trace -o small.trace

The result is a trace again, each operation with its line in the original; no operation can be dropped from it.
Exit codes: 1 a violation was shrunk, 0 nothing is forbidden, 2 bad usage or input, 3 undecided.")]
pub struct Shrink {
    /// A trace file; `-` is standard input.
    #[arg(value_name = "TRACE")]
    pub file: PathBuf,

    /// Memory model: a built-in name or the path of a .toml file.
    #[arg(short, long, default_value = "tso", value_name = "MODEL")]
    pub model: String,

    /// Which trace of the file, from 1; the first forbidden one if not given.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub trace: Option<u64>,

    /// Write the result to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub clock: ClockArgs,

    #[command(flatten)]
    pub limits: LimitArgs,
}

/// `membar verify`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar verify dekker.c                       compiled, and explored class by class, under tso
  membar verify main.c queue.c -- -Iinc -DN=3  one program of two files, with flags for the compiler
  membar verify SB.litmus tests/               litmus tests; of a directory, each file
  make CC=\"membar cc\" && membar verify ./test -- 2 items
                                               a program with a build of its own, and its arguments
  membar verify --model pso --strategy bounded --preemptions 2 bakery.c
  membar verify --strategy pct --executions 100000 --seed 7 bakery.c
  membar verify --time 1h --jobs 2 --resume bakery.state bakery.c
                                               can be interrupted, and goes on where it was
  membar verify --html report.html dekker.c    also a page that explains the violations
  membar verify --format json dekker.c         for programs

Only sequentially consistent executions are explored; a monitor finds on them what store buffers could do.
Exit codes: 0 safe, 1 unsafe or an error of the program, 2 bad usage or input, 3 undecided.")]
pub struct Verify {
    /// C and C++ sources, which together are one program; a program built with `membar cc`; litmus tests; directories of
    /// sources and tests; @lists; `-` is a litmus test on standard input.
    #[arg(required = true, value_name = "PROGRAM")]
    pub programs: Vec<PathBuf>,

    /// Memory model of the machine.
    #[arg(short, long, value_enum, default_value_t = VerifyModel::Tso, value_name = "MODEL")]
    pub model: VerifyModel,

    /// Which executions to explore.
    #[arg(short, long, value_enum, default_value_t = StrategyName::Auto, value_name = "STRATEGY")]
    pub strategy: StrategyName,

    /// With --strategy bounded: at most this many switches away from a thread that could go on.
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub preemptions: u32,

    /// Stop after about this many executions (random and pct: exactly so many) [default: no limit; random and pct: 10000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub executions: Option<u64>,

    /// With --strategy pct: how many ordering constraints a bug may need.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub depth: u32,

    /// With random and pct: where the random numbers begin.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,

    /// What looks at each execution.
    #[arg(long, value_enum, default_value_t = VerifyMonitor::Auto, value_name = "MONITOR")]
    pub monitor: VerifyMonitor,

    /// Stop at the first violation or error.
    #[arg(long)]
    pub stop_at_first: bool,

    /// Do not run a thread any further after this many accesses.
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = steps)]
    pub steps: usize,

    /// Time for one program: 500ms, 10s, 2m, or none.
    #[arg(long, default_value = "none", value_name = "LIMIT", value_parser = TimeParser)]
    pub time: Time,

    /// Go on where this file says, if it exists, and keep it up to date.
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,

    /// Use this many cores; the result is the same.
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,

    /// How results are written: for people or as JSON.
    #[arg(short, long, value_enum, default_value_t = VerifyFormat::Text, value_name = "FORMAT")]
    pub format: VerifyFormat,

    /// Also write a report for a browser to this file: one page with every view of every violation.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Say nothing about safe programs.
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Show every violation in full, and what it cost.
    #[arg(short, long)]
    pub verbose: bool,

    #[command(flatten)]
    pub native: NativeArgs,
}

/// How C and C++ programs are compiled and run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "C and C++ programs")]
pub struct NativeArgs {
    /// Give the program this argument; may be repeated. What an executable gets may also follow `--`.
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub args: Vec<OsString>,

    /// What to assume where the language leaves it open.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub assume: Vec<Assumption>,

    /// Heap that one execution may use: 512MB, 1GiB, or none [default: 64MiB]
    #[arg(long, value_name = "LIMIT", value_parser = MemoryParser)]
    pub memory: Option<Memory>,

    /// The compiler, gcc or clang [default: $CC or $CXX, else what is installed]
    #[arg(long, value_name = "COMPILER")]
    pub cc: Option<OsString>,

    /// After sources: flags for the compiler and linker. After an executable: its arguments.
    #[arg(last = true, value_name = "FLAGS")]
    pub flags: Vec<OsString>,
}

/// What C and C++ leave open.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assumption {
    /// Volatile accesses are like any others: the machine may reorder them (the default)
    #[value(name = "volatile=plain")]
    VolatilePlain,
    /// Volatile accesses are seq_cst atomics, as some compilers make them
    #[value(name = "volatile=atomic")]
    VolatileAtomic,
}

/// `membar cc` and `membar c++`
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  make CC=\"membar cc\" CXX=\"membar c++\"      then: membar verify ./program -- its arguments
  CC=\"membar cc\" CXX=\"membar c++\" cmake -B build && cmake --build build
  membar cc -O2 -c queue.c

All arguments go to the compiler, and what it makes works as always; beside that it carries what `membar verify` needs.
The compiler is gcc or clang, or what MEMBAR_CC and MEMBAR_CXX name.
Exit codes: those of the compiler."
)]
pub struct Compile {
    /// What the compiler is called with.
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

fn steps(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=1_000_000) => Ok(n),
        _ => Err("write a number from 1 to 1000000".into()),
    }
}

/// The machines that programs are verified for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerifyModel {
    /// Total Store Order: a store buffer a thread (x86, SPARC)
    Tso,
    /// Partial Store Order: a store buffer a thread and address
    Pso,
}

/// Ways to choose executions.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum StrategyName {
    /// dpor
    Auto,
    /// Every interleaving
    Exhaustive,
    /// Every interleaving with no preemption, with one, and so on
    Bounded,
    /// One execution of each happens-before class
    Dpor,
    /// Threads chosen at random
    Random,
    /// Random priorities that change a few times
    Pct,
}

/// What looks at each execution.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerifyMonitor {
    /// Ours: one execution of each class is enough for it
    Auto,
    /// Burnim, Sen and Stergiou's for TSO
    Tso,
    /// Theirs for PSO
    Pso,
    /// Burckhardt and Musuvathi's for TSO, as published
    Sober,
    /// The same over the standard definition of TSO
    SoberFixed,
}

/// How results of verification are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerifyFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// `membar replay`
#[derive(Args, Debug)]
#[command(
    override_usage = "membar replay [OPTIONS] <PROGRAM>... <SCHEDULE> [-- <FLAGS>...]",
    after_help = "\
Examples:
  membar replay SB.litmus ab2a                 thread 0, thread 1 twice, thread 0
  membar replay SB.litmus ab2a --model tso     also where tso could leave this execution
  membar replay SB.litmus ab2a --format json
  membar replay main.c queue.c a12b3 -- -DN=3  a program as it was verified

A schedule says who makes the next access: `a` to `z` are threads 0 to 25, `A` to `Z` 26 to 51, `{52}` and so on the
others; a number repeats the thread before it. `membar verify` prints one with everything it finds.
Exit codes: 0 the schedule could be run, 2 bad usage or input, or a thread in it cannot run."
)]
pub struct Replay {
    /// The program, as for `membar verify`: a litmus test (`-` is standard input), sources, or an executable; and last the
    /// schedule.
    #[arg(required = true, num_args = 2.., value_names = ["PROGRAM", "SCHEDULE"])]
    words: Vec<OsString>,

    /// Mark where an access could overtake a store under this model.
    #[arg(short, long, value_enum, value_name = "MODEL")]
    pub model: Option<VerifyModel>,

    /// How the steps are written: for people or as JSON.
    #[arg(short, long, value_enum, default_value_t = VerifyFormat::Text, value_name = "FORMAT")]
    pub format: VerifyFormat,

    /// Explore the program this long before: a schedule counts the accesses to memory that is then known to be shared.
    #[arg(long, value_name = "TIME", value_parser = TimeParser)]
    pub learn: Option<Time>,

    #[command(flatten)]
    pub native: NativeArgs,
}

impl Replay {
    /// The files of the program, and the schedule.
    pub fn program_and_schedule(&self) -> (Vec<PathBuf>, String) {
        match &self.words[..] {
            [program @ .., schedule] => {
                (program.iter().map(PathBuf::from).collect(), schedule.to_string_lossy().into_owned())
            }
            [] => (Vec::new(), String::new()),
        }
    }
}

/// `membar litmus`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar litmus SB.litmus                      tso is the default model
  membar litmus --model sc --model pso tests/  every .litmus file in a directory, a log for each model
  membar litmus @all                           the files that the file `all` names, one a line
  membar litmus --format json SB.litmus        for programs

The dialects are X86, X86_64 and C. A record says which final states there are, how many executions satisfy the
condition (Positive) and how many do not. For programs with loops states are counted instead of executions.
Exit codes: 0 fine, 1 a `~exists` or `forall` does not hold, 2 bad usage or input, 3 a limit was met.")]
pub struct Litmus {
    /// Litmus tests, directories of them, or @lists; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Memory model; may be repeated [default: tso]
    #[arg(short, long = "model", value_enum, value_name = "MODEL")]
    pub models: Vec<LitmusModel>,

    /// How results are written.
    #[arg(short, long, value_enum, default_value_t = LitmusFormat::Text, value_name = "FORMAT")]
    pub format: LitmusFormat,

    #[command(flatten)]
    pub limits: LimitArgs,

    /// Run this many tests at the same time; results stay in order.
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,

    /// Write only what does not hold (`~exists`, `forall`) or is not complete.
    #[arg(short, long)]
    pub quiet: bool,
}

/// The models that programs run under.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LitmusModel {
    /// Sequential consistency
    Sc,
    /// Total Store Order
    Tso,
    /// Partial Store Order
    Pso,
}

/// How results of litmus tests are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LitmusFormat {
    /// herd's records
    Text,
    /// For programs
    Json,
}

/// `membar monitor`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar monitor run.trace                       could this run have gone wrong under tso or pso?
  recorder | membar monitor -                    any length, in memory that does not grow with it
  membar monitor --monitor tso --witness w.txt run.trace.gz
                                                 the run, with its commits, that is not sequentially consistent
  membar monitor --monitor sober --monitor sober-fixed --format json run.trace

The order of the lines is the order of execution: every load returns the value last written. `0: start 1` and `0: join 1`
begin and end threads, `! file.c:12` behind an operation names its instruction. No violation on one interleaving says
nothing about the others of the same program.
Exit codes: 0 no violation, 1 a violation, 2 bad usage or input, 3 stopped by a limit before one was found.")]
pub struct Monitor {
    /// Trace files, also .gz and .zst; `-` is standard input.
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,

    /// Monitor; may be repeated [default: tso and pso]
    #[arg(short, long = "monitor", value_enum, value_name = "MONITOR")]
    pub monitors: Vec<MonitorName>,

    /// How results are written: for people or as JSON.
    #[arg(short, long, value_enum, default_value_t = DataFormat::Text, value_name = "FORMAT")]
    pub format: DataFormat,

    /// Write the run that the first tso or pso monitor simulates, up to its first violation, to this file.
    #[arg(long, value_name = "FILE")]
    pub witness: Option<PathBuf>,

    /// Keep this many recent events to find cycles in (40 bytes each).
    #[arg(long, default_value_t = 1 << 16, value_name = "N")]
    pub window: usize,

    /// Time for one trace: 500ms, 10s, 2m, or none.
    #[arg(long, default_value = "none", value_name = "LIMIT", value_parser = TimeParser)]
    pub time: Time,

    /// Memory for threads and addresses: 512MB, 4GiB, or none.
    #[arg(long, default_value = "8GiB", value_name = "LIMIT", value_parser = MemoryParser)]
    pub memory: Memory,

    /// Stop as soon as every monitor has found a violation.
    #[arg(long)]
    pub stop_at_first: bool,

    /// Say nothing about traces without violation.
    #[arg(short, long)]
    pub quiet: bool,
}

/// A published monitor.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum MonitorName {
    /// Burnim, Sen and Stergiou's for TSO
    Tso,
    /// Theirs for PSO
    Pso,
    /// Burckhardt and Musuvathi's for TSO, as published
    Sober,
    /// The same over the standard definition of TSO
    SoberFixed,
}

impl MonitorName {
    /// What it stands for.
    pub fn algorithm(self) -> membar::monitor::Algorithm {
        use membar::monitor::Algorithm;
        match self {
            MonitorName::Tso => Algorithm::Tso,
            MonitorName::Pso => Algorithm::Pso,
            MonitorName::Sober => Algorithm::Sober,
            MonitorName::SoberFixed => Algorithm::SoberFixed,
        }
    }
}

/// How results of monitors are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataFormat {
    /// For people
    Text,
    /// For programs
    Json,
}

/// `membar simulate`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar simulate --list                         machines with their bugs, and profiles
  membar simulate --machine mesi-tso             1000 tests or 10 seconds, whichever is over first
  membar simulate --machine mesi-tso --bug lost-invalidation
                                                 stops at the first violation and keeps it
  membar simulate --machine tso --model sc       is it stronger than it should be? here it is not
  membar simulate --machine godson-t --bug stale-region --profile locks
                                                 shows in time only: timestamps are taken and compared
  membar simulate --machine mesi-tso --profile hot --profile atomics --time 10m --jobs 2 --keep-going
  membar simulate --machine mesi-tso --time 8h --state night.state
                                                 can be interrupted or killed, and goes on where it was

A violation is kept as a directory with the program, the trace, its smallest part, the reason, and the command that
runs it again. The same seed gives the same program, the same run and the same verdict everywhere.
Exit codes: 0 nothing found, 1 a violation, 2 bad usage, 3 nothing found but something undecided.")]
pub struct Simulate {
    /// The machine; see --list.
    #[arg(long, value_name = "MACHINE", required_unless_present = "list")]
    pub machine: Option<String>,

    /// Switch on a bug of the machine; may be repeated.
    #[arg(long = "bug", value_name = "BUG")]
    pub bugs: Vec<String>,

    /// Show machines with their models and bugs, and profiles.
    #[arg(long)]
    pub list: bool,

    /// Which times traces have: `exact`, `sampled=N` (scans every N cycles) or `off` [default: off; exact for machines whose
    /// model has locks]
    #[arg(long, value_name = "TIMES", value_parser = timestamps)]
    pub timestamps: Option<Timestamps>,

    /// Memory model: a built-in name or the path of a .toml file [default: the machine's]
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,

    #[command(flatten)]
    pub programs: ProgramArgs,

    #[command(flatten)]
    pub campaign: CampaignArgs,
}

/// Which times traces have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timestamps {
    /// Begin and end of every operation.
    Exact,
    /// Those of scans, so far apart.
    Sampled(u64),
    /// None.
    Off,
}

fn timestamps(text: &str) -> Result<Timestamps, String> {
    match text {
        "exact" => Ok(Timestamps::Exact),
        "off" => Ok(Timestamps::Off),
        _ => match text.strip_prefix("sampled=").map(str::parse) {
            Some(Ok(every)) if every > 0 => Ok(Timestamps::Sampled(every)),
            _ => Err("write `exact`, `off`, or `sampled=600` for scans every 600 cycles".into()),
        },
    }
}

/// Which random programs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Programs")]
pub struct ProgramArgs {
    /// A built-in profile (see `membar simulate --list`) or the path of a .toml file; with several, tests take them in turn
    /// [default: default]
    #[arg(short, long = "profile", value_name = "PROFILE")]
    pub profiles: Vec<String>,

    /// Number of threads, in place of the profile's.
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,

    /// Number of addresses, in place of the profile's.
    #[arg(long, value_name = "N")]
    pub addresses: Option<u32>,

    /// Operations of each thread, in place of the profile's.
    #[arg(long, value_name = "N")]
    pub operations: Option<u32>,

    /// Number of locks, in place of the profile's; with 0 nothing is locked.
    #[arg(long, value_name = "N")]
    pub locks: Option<u32>,

    /// The seed of the first test; the next one has the next number.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
}

/// How long a campaign goes on, and what it leaves behind.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Campaign")]
pub struct CampaignArgs {
    /// So many tests, those of --state included [default: 1000 if --time is not given]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub tests: Option<u64>,

    /// For so long: 10s, 2m, 8h, or none [default: 10s if --tests is not given]
    #[arg(long, value_name = "LIMIT", value_parser = TimeParser)]
    pub time: Option<Time>,

    /// Time for the check of one trace: 500ms, 10s, 2m, or none.
    #[arg(long, default_value = "60s", value_name = "LIMIT", value_parser = TimeParser)]
    pub check_time: Time,

    /// Memory for the check of one trace: 512MB, 4GiB, or none.
    #[arg(long, default_value = "8GiB", value_name = "LIMIT", value_parser = MemoryParser)]
    pub memory: Memory,

    /// Check this many tests at the same time; the result is the same [default: 1; stress: one for each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,

    /// Go on after a violation.
    #[arg(short, long)]
    pub keep_going: bool,

    /// With --keep-going: stop at this many.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_violations: u64,

    /// Keep violations in this directory.
    #[arg(short, long, default_value = "membar-violations", value_name = "DIRECTORY")]
    pub output: PathBuf,

    /// Go on where this file says, if it exists, and keep it up to date.
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,

    /// How the summary is written.
    #[arg(short, long, value_enum, default_value_t = DataFormat::Text, value_name = "FORMAT")]
    pub format: DataFormat,

    /// Nothing but the summary.
    #[arg(short, long)]
    pub quiet: bool,
}

/// `membar stress`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar stress                            random programs for 10 seconds: does this machine obey its model?
  membar stress --model sc                 it does not: the first store that waited in a buffer, explained
  membar stress --profile paper --time 8h --state night.state
                                           can be interrupted or killed, and goes on where it was
  membar stress --profile locks --profile atomics --threads 4 --keep-going
  membar stress --timestamps 16            time-stamp counters of every 16th operation order what is far apart
  membar stress SB.litmus --time 5s        a litmus test, millions of times: a histogram in litmus7's layout
  membar stress tests/ --tests 100000 --format json

The same seed gives the same program, but no two runs of it are the same. A violation is kept as a directory with the program, the
trace, its smallest part and the reason.
Exit codes: 0 nothing found, 1 a violation, 2 bad usage, 3 nothing found but something undecided.")]
pub struct Stress {
    /// Litmus tests to run in place of random programs: files, directories, @lists.
    #[arg(value_name = "TEST")]
    pub files: Vec<PathBuf>,

    /// Memory model: a built-in name or the path of a .toml file; for litmus tests sc, tso or pso [default: this machine's,
    /// tso on x86, wmo elsewhere]
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,

    /// The cores that threads are tied to, such as 0-3,6 [default: all that are allowed]
    #[arg(long, value_name = "CORES")]
    pub cores: Option<String>,

    /// Which operations note the time-stamp counter: `every`, each N-th, or `off`.
    #[arg(long, default_value = "off", value_name = "TIMES", value_parser = hardware_times)]
    pub timestamps: HardwareTimes,

    /// Run programs through atomics instead of machine code made for them.
    #[arg(long)]
    pub portable: bool,

    #[command(flatten)]
    pub programs: ProgramArgs,

    #[command(flatten)]
    pub campaign: CampaignArgs,
}

/// Which operations note the time-stamp counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HardwareTimes {
    /// None.
    Off,
    /// Each of so many.
    Every(u32),
}

fn hardware_times(text: &str) -> Result<HardwareTimes, String> {
    match text {
        "off" => Ok(HardwareTimes::Off),
        "every" => Ok(HardwareTimes::Every(1)),
        _ => match text.parse() {
            Ok(every) if every > 0 => Ok(HardwareTimes::Every(every)),
            _ => Err("write `every`, `off`, or a number: 16 for every 16th operation".into()),
        },
    }
}

/// `membar gen`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar gen --as c --seed 7 -o test.c      cc -O2 -pthread test.c && ./a.out 1000 | membar check -
  membar gen --as litmus --threads 2 --operations 3 --addresses 2 --locks 0 -o small.litmus
  membar gen --as text --profile hot        the program itself
  membar gen --as trace --machine mesi-tso --count 20 | membar check -
  membar gen --as c --profile atomics --count 50 -o tests/
                                            50 files, with seeds 1 to 50

The C program is complete: x86-64, AArch64 and RISC-V (64 bits), any POSIX threads. It prints a trace in the text format for
each run, so that its output can be piped or carried to `membar check -`. The same seed gives the same program everywhere, also
in `membar simulate`.
Exit codes: 0 written, 2 bad usage.")]
pub struct Gen {
    /// What to write.
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub kind: GenKind,

    #[command(flatten)]
    pub programs: ProgramArgs,

    /// How many, with one seed after the other.
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub count: u64,

    /// With --as trace and litmus: the machine that runs the program, also with bugs: mesi-tso+no-replay.
    #[arg(long, default_value = "tso", value_name = "MACHINE")]
    pub machine: String,

    /// With --as trace: which times traces have: `exact`, `sampled=N` or `off`.
    #[arg(long, default_value = "off", value_name = "TIMES", value_parser = timestamps)]
    pub timestamps: Timestamps,

    /// Write to this file, or into this directory if it is one or ends in `/`, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What is written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum GenKind {
    /// A C program with inline assembly, which prints traces
    C,
    /// A litmus test in C's dialect, for few operations; its condition is what the machine did
    Litmus,
    /// The program as text
    Text,
    /// What a simulated machine did with it
    Trace,
}

/// `membar models`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar models                        the built-in models, strongest first
  membar models show tso > mine.toml   a model file to start from
  membar check --model mine.toml run.trace")]
pub struct Models {
    /// `list` if not given.
    #[command(subcommand)]
    pub action: Option<ModelsAction>,
}

/// What to do with models.
#[derive(Subcommand, Debug)]
pub enum ModelsAction {
    /// Names and titles, strongest first
    List,
    /// The model as a file
    Show {
        /// A built-in name or the path of a .toml file.
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// The smallest traces that one model allows and another forbids
    #[command(after_help = "\
Examples:
  membar models diff rc scope
  membar models diff tso my-tso.toml --time 5m

Exit codes: 1 they differ, 0 no difference was found (the output says how far it was looked for), 2 bad usage, 3 undecided.")]
    Diff {
        /// A built-in name or the path of a .toml file.
        #[arg(value_name = "A")]
        a: String,
        /// The other one.
        #[arg(value_name = "B")]
        b: String,
        /// Look at traces of up to this many operations.
        #[arg(long, default_value_t = 9, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16))]
        operations: u8,
        /// How results are written.
        #[arg(short, long, value_enum, default_value_t = DataFormat::Text, value_name = "FORMAT")]
        format: DataFormat,
        #[command(flatten)]
        limits: LimitArgs,
    },
}

/// `membar demo`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar demo
  membar demo --save traces    also writes the programs and traces that it uses, to try the commands on")]
pub struct Demo {
    /// Write the programs and traces of the demonstration into this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub save: Option<PathBuf>,
}

/// When to use colours.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// If standard output is a terminal and NO_COLOR is not set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How results are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// OK, NO or UNDECIDED, one line a trace
    Axe,
}
