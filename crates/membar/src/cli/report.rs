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
  membar report night.json --model my.toml     where a model of your own was checked

What the document holds is enough: the traces and programs that it is about need not be there any more. Violations of traces are
decided again. Sources that are still there are shown.
Exit codes: 0 the page was written, 2 bad usage or input.")]
pub struct ReportArgs {
    /// What `--format json` of check, verify, litmus, monitor, replay, stress or simulate wrote; `-` is standard input.
    #[arg(value_name = "RESULT")]
    pub result: PathBuf,

    /// Write the page to this file [default: RESULT with the ending .html; report.html for standard input]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// The path of a model that is not built in, to decide violations again; may be repeated
    #[arg(short, long = "model", value_name = "MODEL")]
    pub models: Vec<String>,
}
