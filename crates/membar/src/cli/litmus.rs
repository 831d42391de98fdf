//! `litmus`.

use super::LimitArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `membar litmus`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar litmus SB.litmus                      under the model of its machine
  membar litmus --model sc,pso tests/          every .litmus file in a directory, one log per model
  membar litmus @all                           the files that the file `all` names, one per line
  membar litmus --html report.html SB.litmus   also a page: states by model, with runs
  membar litmus --format json SB.litmus        machine-readable

The dialects are X86, X86_64, RISCV, AArch64 and C; the models are sc, tso and pso for X86, X86_64 and C, also c11 \
for C; sc, ztso and rvwmo for RISCV; sc and armv8 for AArch64. A record lists the final states, and how many executions satisfy \
the condition (Positive) or not (Negative); for programs with loops, how many states.
Exit codes: 0 fine, 1 a `~exists` or `forall` does not hold, 2 bad usage or input, \
3 a limit was reached, 4 a bug in membar.")]
pub struct Litmus {
    /// Litmus tests, directories of them, or @lists; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Memory model; may be repeated, or a list (sc,tso) [default: tso; for tests in RISCV rvwmo, in AArch64 armv8]
    #[arg(short, long = "model", value_enum, value_name = "MODEL", value_delimiter = ',')]
    pub models: Vec<LitmusModel>,

    /// How results are written.
    #[arg(short, long, value_enum, default_value_t = LitmusFormat::Text, value_name = "FORMAT")]
    pub format: LitmusFormat,

    /// Also write a report for a browser to this file: one page with every view.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Open the page in a browser: `$BROWSER`, or the default browser.
    #[arg(long, requires = "html")]
    pub open: bool,

    #[command(flatten)]
    pub limits: LimitArgs,

    /// Run this many tests at the same time; results stay in order.
    #[arg(short, long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: u16,

    /// Write only tests that fail (`~exists`, `forall`) or are incomplete.
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
    /// C11's memory orders (RC11), for tests in C
    C11,
    /// RISC-V's memory model, for tests in RISCV
    Rvwmo,
    /// RISC-V with total store order, for tests in RISCV
    Ztso,
    /// Arm's memory model, for tests in AArch64
    Armv8,
}

/// How results of litmus tests are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LitmusFormat {
    /// herd's records
    Text,
    /// Machine-readable
    Json,
}
