//! Every command and flag, in one place: help, man pages and completions come from here.

mod campaign;
mod check;
mod litmus;
mod models;
mod monitor;
mod report;
mod verify;

pub use campaign::*;
pub use check::*;
pub use litmus::*;
pub use models::*;
pub use monitor::*;
pub use report::*;
pub use verify::*;

use crate::quantity;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
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
  membar report run.json                   a page from what `--format json` wrote
  membar simulate --machine mesi-tso --bug no-replay
                                           random programs on a machine with a bug, every result checked
  membar gen --as c > test.c               a random program for another machine, which prints a trace

Exit codes: 0 everything allowed or safe, 1 something forbidden or unsafe, 2 bad usage or input, 3 undecided,
4 a bug of membar."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// When to use colours.
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", global = true)]
    pub color: Color,
}

impl Cli {
    /// What this process was called with. Ends it if that is wrong, or asks for help.
    pub fn from_arguments() -> Cli {
        let matches = numbers(Cli::command()).get_matches();
        Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// Takes a negative number after an option for its value, to be told that it is wrong, and not for an option of that name.
fn numbers(command: clap::Command) -> clap::Command {
    let takes = |arg: &clap::Arg| arg.get_long().is_some() && arg.get_action().takes_values();
    command.mut_args(|arg| if takes(&arg) { arg.allow_negative_numbers(true) } else { arg }).mut_subcommands(numbers)
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
    /// Make a page for a browser from a result that was saved as JSON
    Report(ReportArgs),
    /// Write random programs as C, as litmus tests or as text, or traces of simulated machines
    Gen(Gen),
    /// List the built-in memory models, or show one as the file it is
    Models(Models),
    /// See what this tool does, on this machine, in under a minute
    Demo(Demo),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  membar completions bash > ~/.local/share/bash-completion/completions/membar
  membar completions zsh > ~/.zfunc/_membar      where fpath has ~/.zfunc
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
  membar man check > membar-check.1
  membar man models diff | man -l -
  membar man --output ~/.local/share/man/man1    the pages of all commands")]
    Man {
        /// A command, and one of its own commands; without it the page of membar itself.
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,

        /// Write the pages of membar and of all commands into this directory.
        #[arg(short, long, value_name = "DIRECTORY", conflicts_with = "command")]
        output: Option<PathBuf>,
    },
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

/// `membar demo`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar demo                a broken lock, its fence, what the cores of this machine do, and a page for a browser
  membar demo --save demo    keeps the programs, the traces and the page, to try the commands on

The page is membar-demo.html, in the current directory or in that of --save. Nothing of yours is overwritten.
Exit codes: 0 told to the end, 2 something cannot be written, 3 interrupted.")]
pub struct Demo {
    /// Keep the programs, the traces and the page in this directory.
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
    /// OK, NO or UNDECIDED, one line per trace
    Axe,
}
