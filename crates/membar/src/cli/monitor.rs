//! `monitor`.

use super::{Memory, MemoryParser, Time, TimeParser};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `membar monitor`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar monitor run.trace                       could this run have gone wrong under tso or pso?
  recorder | membar monitor -                    any length, in bounded memory
  membar monitor --monitor tso --witness w.txt run.trace.gz
                                                 the machine's run, with its commits
  membar monitor --html report.html run.trace    also a page that explains the violations
  membar monitor --monitor sober --monitor sober-fixed --format json run.trace

Lines are in the order of execution: every load returns the value last written. `0: start 1` and \
`0: join 1` begin and end threads, `! file.c:12` after an operation names its instruction. Finding \
nothing on one interleaving says nothing about others of the same program.
Exit codes: 0 no violation, 1 a violation, 2 bad usage or input, 3 stopped by a limit, \
4 a bug in membar.")]
pub struct Monitor {
    /// Trace files, also .gz and .zst; directories of them; @lists; `-` is standard input.
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,

    /// Monitor; may be repeated [default: tso and pso]
    #[arg(long = "monitor", short_alias = 'm', value_enum, value_name = "MONITOR")]
    pub monitors: Vec<MonitorName>,

    /// How results are written: for people or as JSON.
    #[arg(short, long, value_enum, default_value_t = DataFormat::Text, value_name = "FORMAT")]
    pub format: DataFormat,

    /// Also write a report for a browser to this file: one page with every view.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Open the page in a browser: `$BROWSER`, or the default browser.
    #[arg(long, requires = "html")]
    pub open: bool,

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

    /// Say nothing about traces without violations.
    #[arg(short, long)]
    pub quiet: bool,
}

/// A published monitor.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum MonitorName {
    /// Burnim, Sen and Stergiou's for TSO
    Tso,
    /// The same authors' for PSO
    Pso,
    /// Burckhardt and Musuvathi's for TSO, as published
    Sober,
    /// The same, corrected to the standard definition of TSO
    SoberFixed,
}

impl MonitorName {
    /// The library's name for it.
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
    /// Machine-readable
    Json,
}
