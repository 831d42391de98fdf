//! `report`.

use clap::Args;
use std::path::PathBuf;

/// `membar report`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar check --format json run.trace > run.json
  membar report run.json                       writes run.html beside it
  membar report run.json -o page.html
  membar verify --format json dekker.c | membar report - -o dekker.html
  membar report night.json --model my.toml     if it was checked against your own model

The traces and programs that the document is about need not exist any more. Violations of traces are \
decided again. Sources that still exist are shown.
Exit codes: 0 the page was written, 2 bad usage or input.")]
pub struct ReportArgs {
    /// A result of `--format json` (check, verify, litmus, monitor, replay, stress, simulate); `-` is standard input.
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,

    /// Write the page to this file [default: RESULT with extension .html; report.html for standard input]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// A model file, to decide violations of a model that is not built in; may be repeated
    #[arg(short, long = "model", value_name = "MODEL")]
    pub models: Vec<String>,
}
