//! `membar convert`

use clap::Args;
use std::path::PathBuf;

/// `membar convert`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar convert run.log -o run.trace           the format is guessed from the first lines
  spike --log-commits -p2 prog 2> run.log; membar convert --shared run.log | membar check -m rvwmo -
  membar convert --from tracegen simulation.out | membar check -m rvwmo -
  membar convert --from csv table.csv

Formats:
  tracegen   rocket-chip's and Chipyard's TraceGen
  spike      commit log of Spike (--log-commits), or of a core that prints the same
  whisper    Whisper's --logfile, plain or --csvlog
  dromajo    Dromajo's --trace
  axe        axe, in every form its parser takes
  csv        a table with a header line; the book's chapter on cores has its columns

Lines that cannot be converted are reported with their place and reason; all others are converted.
Exit codes: 0 everything converted, 2 bad usage, or lines that were not converted.")]
pub struct Convert {
    /// A log, perhaps compressed (gz, zst); `-` is standard input.
    #[arg(value_name = "LOG")]
    pub file: PathBuf,

    /// The format; guessed if not given.
    #[arg(long, value_name = "FORMAT", value_parser = ["tracegen", "spike", "whisper", "dromajo", "axe", "csv"])]
    pub from: Option<String>,

    /// Write the traces to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Leave out accesses of memory that only one hart uses, such as stacks.
    #[arg(long)]
    pub shared: bool,

    /// Take memory to be 0 at the start, whatever is read first (for logs of instruction-set simulators).
    #[arg(long)]
    pub zero: bool,
}
