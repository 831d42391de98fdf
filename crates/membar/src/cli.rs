//! Every command and flag, in one place: help, man pages and completions come from here.

use crate::quantity;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Checks recorded executions against memory models.
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

Exit codes: 0 everything allowed, 1 something forbidden, 2 bad usage or input, 3 undecided."
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
  simulator | membar check -                    answers each trace as its `check` line arrives
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

    /// After a malformed trace, go on with the next one of its file.
    #[arg(short, long)]
    pub keep_going: bool,

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

/// Limits of one decision.
#[derive(Args, Debug)]
pub struct LimitArgs {
    /// Time for one trace and model: 500ms, 10s, 2m, or none.
    #[arg(long, default_value = "60s", value_name = "LIMIT", value_parser = TimeParser)]
    pub time: Time,

    /// Memory for one decision: 512MB, 4GiB, or none.
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
    pub limits: LimitArgs,
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
}

/// `membar demo`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar demo
  membar demo --save traces    also writes the traces that it uses, to try the commands on")]
pub struct Demo {
    /// Write the traces of the demonstration into this directory.
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
