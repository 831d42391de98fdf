//! `check` and `shrink`.

use super::{Format, LimitArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `membar check`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar check run.trace                        tso is the default model
  membar check --model sc --model tso traces/   a table: one row per trace, one column per model
  membar check --model my-model.toml run.trace  your own model
  membar check --model scope --clock global --sampled-every 600 run.trace
                                                timestamps of one clock, from scans every 600 cycles
  simulator | membar check -                    answers each trace as its `check` line arrives
  membar check --html report.html run.trace     also a page that explains the answer
  membar check --format json run.trace.gz       verdicts with proofs, machine-readable
  membar check --format axe - < tests.axe       OK or NO, one line per trace

An independent checker re-checks every verdict before it is printed.
Exit codes: 0 all allowed, 1 something forbidden, 2 bad usage or input, 3 undecided, \
4 a bug in membar.")]
pub struct Check {
    /// Trace files, also .gz and .zst; directories of them; @lists; `-` is standard input.
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,

    /// Memory model: a built-in name (see `membar models`) or the path of a .toml file; may be repeated, or a list (sc,tso) [default: tso]
    #[arg(short, long = "model", value_name = "MODEL", value_delimiter = ',')]
    pub models: Vec<String>,

    /// How results are written: for people, as JSON with proofs, or as axe's OK/NO lines.
    #[arg(short, long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub format: Format,

    /// Also write a report for a browser to this file: one page with every view of every answer.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Open the page in a browser: `$BROWSER`, or the default browser.
    #[arg(long, requires = "html")]
    pub open: bool,

    /// After a malformed trace, continue with the next one of its file.
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

    /// Show a memory order for each allowed trace (-vv: all of it, however long).
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The meaning of timestamps.
#[derive(Args, Debug, Clone, Copy)]
pub struct ClockArgs {
    /// Which operations can be compared by their timestamps (`@ begin:end`).
    #[arg(long, value_enum, default_value_t = ClockScope::Local, value_name = "CLOCK")]
    pub clock: ClockScope,

    /// How far a timestamp may be off: every period is widened by this on both sides.
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub clock_error: u64,

    /// Timestamps come from scans this far apart: an event happened after the scan before. An operation without a
    /// timestamp lies between its neighbours.
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

/// `membar shrink`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar shrink run.trace                         the first forbidden trace of the file, under tso
  membar shrink run.trace --trace 17 --model pso  the 17th trace
  membar shrink run.trace -o small.trace

The result is a trace, each operation with its line in the original; no operation can be dropped.
Exit codes: 1 a violation was shrunk, 0 nothing is forbidden, 2 bad usage or input, 3 undecided, \
4 a bug in membar.")]
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
