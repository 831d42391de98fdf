//! Every command and flag, in one place: help, man pages and completions come from here.

mod campaign;
mod cargo;
mod check;
mod convert;
mod litmus;
mod many;
mod models;
mod monitor;
mod report;
mod verify;

pub use campaign::*;
pub use cargo::*;
pub use check::*;
pub use convert::*;
pub use litmus::*;
pub use many::*;
pub use models::*;
pub use monitor::*;
pub use report::*;
pub use verify::*;

use crate::quantity;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use membar::{Budget, Interrupt};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Memory consistency: verify programs, check recorded executions, stress machines.
#[derive(Parser, Debug)]
#[command(
    name = "membar",
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  membar demo                              see it work, in under a minute
  membar verify dekker.c                   does this program work on a CPU with store buffers?
  membar litmus --model pso SB.litmus      every final state
  membar check run.trace                   is this execution allowed by tso?
  membar check --model sc --model tso *.trace
  simulator | membar check -               answers each trace as its `check` line arrives
  membar shrink run.trace -o small.trace   the smallest part that is still forbidden
  membar stress                            do this machine's cores obey their model?
  membar simulate --machine mesi-tso --bug no-replay
                                           random programs on a machine with a bug
  membar report run.json                   a page from the output of `--format json`

Exit codes: 0 everything allowed or safe, 1 something forbidden or unsafe, 2 bad usage or input, \
3 undecided, 4 a bug in membar."
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,

    /// When to use colours.
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", global = true)]
    pub color: Color,
}

impl Cli {
    /// The arguments of this process. Ends it if they are wrong, or ask for help.
    pub fn from_arguments() -> Cli {
        let command = numbers(Cli::command());
        let help = by_topic(&command);
        let matches = command.help_template(help).get_matches();
        for note in old_names(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned())) {
            let _ = writeln!(std::io::stderr(), "{note}");
        }
        Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// Flags that have another name now. Each works under its old one for one release, as an alias.
const RENAMED: [(&str, &str, &str); 5] = [
    ("simulate", "--state", "--resume"),
    ("stress", "--state", "--resume"),
    ("verify", "--memory", "--heap"),
    ("replay", "--memory", "--heap"),
    ("monitor", "-m", "--monitor"),
];

/// A note for each old name in a command line that is right.
fn old_names(words: impl Iterator<Item = String>) -> Vec<String> {
    let words: Vec<String> = words.take_while(|word| word != "--").collect();
    let command = words.iter().find(|word| RENAMED.iter().any(|(of, ..)| of == word));
    let is = |word: &String, old: &str| {
        word == old || word.starts_with(&format!("{old}=")) || (old.len() == 2 && word.starts_with(old))
    };
    let used = |(of, old, _): &&(&str, &str, &str)| {
        command.is_some_and(|command| command == of) && words.iter().any(|word| is(word, old))
    };
    let note = |(_, old, new): &(&str, &str, &str)| {
        format!("note: {old} is called {new} now; the old name works until the next release")
    };
    RENAMED.iter().filter(used).map(note).collect()
}

/// The commands as `membar --help` groups them.
const TOPICS: [(&str, &[&str]); 5] = [
    ("Programs", &["verify", "replay", "cargo", "cc", "c++", "litmus"]),
    ("Traces", &["check", "shrink", "convert", "monitor", "models"]),
    ("Machines", &["stress", "simulate", "gen"]),
    ("Many machines", &["plan", "work", "merge", "status"]),
    ("More", &["demo", "report", "completions", "man", "help"]),
];

/// The template of `membar --help`: clap cannot group commands.
fn by_topic(command: &clap::Command) -> String {
    let (head, name) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut list = String::new();
    for (topic, commands) in TOPICS {
        list.push_str(&format!("{head}{topic}:{head:#}\n"));
        for &of in commands {
            // clap adds `help` by itself, later.
            let about = command.find_subcommand(of).and_then(clap::Command::get_about).map(ToString::to_string);
            let about = about.unwrap_or_else(|| "Print this message, or the help of a command".to_owned());
            list.push_str(&format!("  {name}{of}{name:#}{:1$}{about}\n", "", 13 - of.len()));
        }
        list.push('\n');
    }
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{head}Options:{head:#}\n{{options}}{{after-help}}"
    )
}

/// Takes a negative number after an option as its value, which is then refused, and not as an option of that name.
fn numbers(command: clap::Command) -> clap::Command {
    let takes = |arg: &clap::Arg| arg.get_long().is_some() && arg.get_action().takes_values();
    command.mut_args(|arg| if takes(&arg) { arg.allow_negative_numbers(true) } else { arg }).mut_subcommands(numbers)
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Decide whether a memory model allows recorded executions
    Check(Check),
    /// Cut a forbidden trace down to its smallest forbidden part
    Shrink(Shrink),
    /// Turn logs of cores and simulators into traces
    Convert(Convert),
    /// Verify that a program stays sequentially consistent on x86 or Arm
    Verify(Verify),
    /// Run one schedule of a program, step by step
    Replay(Replay),
    /// Compile C for `membar verify`, in place of a build's compiler
    Cc(Compile),
    /// Compile C++ for `membar verify`, in place of a build's compiler
    #[command(name = "c++")]
    Cxx(Compile),
    /// Verify the tests and programs of a Rust package: `cargo membar`
    Cargo(Cargo),
    /// Run a program for another process of membar
    #[command(hide = true)]
    RunProgram,
    /// List all final states of litmus tests, in herd's layout
    Litmus(Litmus),
    /// Find where TSO or PSO could leave a recorded interleaving
    Monitor(Monitor),
    /// Run random programs or litmus tests on this machine's cores
    Stress(Stress),
    /// Run random programs on simulated machines, with or without bugs
    Simulate(Simulate),
    /// Split a command into shards for many machines
    Plan(PlanArgs),
    /// Work on the shards of a plan
    Work(WorkArgs),
    /// Put the results of a plan together
    Merge(MergeArgs),
    /// Show the progress of a plan: shards done, findings, stragglers
    Status(StatusArgs),
    /// Make a page for a browser from a saved JSON result
    Report(ReportArgs),
    /// Write random programs as C, litmus tests or text, or their traces
    Gen(Gen),
    /// List, show or compare memory models
    Models(Models),
    /// See what membar does, on this machine, in under a minute
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
        /// A command, possibly with a subcommand; without it, the page of membar itself.
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,

        /// Write the pages of membar and of all commands into this directory.
        #[arg(short, long, value_name = "DIRECTORY", conflicts_with = "command")]
        output: Option<PathBuf>,
    },
}

impl Command {
    /// The page that is to be opened when it is written.
    pub fn to_open(&self) -> Option<&Path> {
        let (page, open) = match self {
            Command::Check(args) => (&args.html, args.open),
            Command::Litmus(args) => (&args.html, args.open),
            Command::Monitor(args) => (&args.html, args.open),
            Command::Verify(args) => (&args.html, args.open),
            Command::Cargo(Cargo { what: CargoCommand::Test(args) }) => (&args.how.html, args.how.open),
            Command::Cargo(Cargo { what: CargoCommand::Run(args) }) => (&args.how.html, args.how.open),
            Command::Replay(args) => (&args.html, args.open),
            Command::Stress(args) => (&args.campaign.html, args.campaign.open),
            Command::Simulate(args) => (&args.campaign.html, args.campaign.open),
            _ => return None,
        };
        page.as_deref().filter(|_| open)
    }
}

/// Limits of one decision.
#[derive(Args, Debug)]
pub struct LimitArgs {
    /// Time for one input and model: 500ms, 10s, 2m, or none.
    #[arg(long, default_value = "60s", value_name = "LIMIT", value_parser = TimeParser)]
    pub time: Time,

    /// Memory for one input and model: 512MB, 4GiB, or none.
    #[arg(long, default_value = "8GiB", value_name = "LIMIT", value_parser = MemoryParser)]
    pub memory: Memory,
}

impl LimitArgs {
    /// The same for decisions that this may stop.
    pub fn budget(&self, interrupt: &Interrupt) -> Budget {
        Budget::new(self.time.0, self.memory.0, interrupt)
    }
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
  membar demo                a broken lock, its fence, this machine's cores, a page for a browser
  membar demo --save demo    keeps the programs, the traces and the page, to try the commands on

The page is membar-demo.html, in the current directory or in that of --save. No existing file is \
overwritten.
Exit codes: 0 complete, 2 something cannot be written, 3 interrupted.")]
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
    /// Machine-readable
    Json,
    /// OK, NO or UNDECIDED, one line per trace
    Axe,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_command_once() {
        let mut command = Cli::command();
        command.build();
        let mut real: Vec<&str> =
            command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
        let mut listed: Vec<&str> = TOPICS.iter().flat_map(|(_, commands)| commands.iter().copied()).collect();
        real.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, real);
        assert!(by_topic(&command).lines().all(|line| line.len() < 100));
    }

    #[test]
    fn old_names_of_flags_are_taken_with_a_note() {
        let notes = |line: &str| {
            let words = line.split(' ').map(str::to_owned);
            Cli::try_parse_from(std::iter::once("membar".to_owned()).chain(words.clone())).expect(line);
            old_names(words)
        };
        for (line, old, new) in [
            ("simulate --machine tso --state s", "--state", "--resume"),
            ("stress --state=s", "--state", "--resume"),
            ("verify --memory 1GiB a.c", "--memory", "--heap"),
            ("replay --memory=none a.c a", "--memory", "--heap"),
            ("monitor -m tso run.trace", "-m", "--monitor"),
        ] {
            let expected = format!("note: {old} is called {new} now; the old name works until the next release");
            assert_eq!(notes(line), [expected], "{line}");
        }
        for line in ["verify -m tso a.c", "check --memory 1GiB -m sc a.trace", "verify a.c -- --memory"] {
            assert!(notes(line).is_empty(), "{line}");
        }
    }
}
