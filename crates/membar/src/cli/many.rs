//! `plan`, `work`, `merge` and `status`.

use super::{Time, TimeParser};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `membar plan`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar plan night --shards 1000 simulate --machine mesi-tso --tests 10000000
  membar plan big --shards 64 --shard-time 20m verify --strategy dpor bakery.c -- -DN=4
  membar plan farm --shards 200 check --model tso traces/
  membar plan night --submit slurm --tasks 100 simulate --machine mesi-tso --tests 10000000
                                    also writes the script of a job array, and submits it
  membar work night                 then, on any machine that sees the directory
  membar merge night                the result that one machine would have given

The command is simulate, stress, check or verify, with its arguments. Only verify runs anything yet: it explores a little \
to find out where to split.
Exit codes: 0 written, 2 bad usage or input.")]
pub struct PlanArgs {
    /// The directory to make.
    #[arg(value_name = "PLAN")]
    pub directory: PathBuf,

    /// Split into about this many shards.
    #[arg(short = 'n', long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub shards: u32,

    /// A shard that takes longer gives back what is left of it, as new shards: 90s, 20m, or none.
    #[arg(long, default_value = "none", value_name = "LIMIT", value_parser = TimeParser)]
    pub shard_time: Time,

    /// The first violation or error stops all workers.
    #[arg(long)]
    pub stop_at_first: bool,

    /// For verify: explore at most this long to find out where to split.
    #[arg(long, default_value = "10s", value_name = "LIMIT", value_parser = TimeParser)]
    pub explore: Time,

    /// Write the script for this engine into the plan, and submit it.
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub submit: Option<Engine>,

    /// With --submit: this many tasks share the shards [default: one per shard, 1000 at most]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), requires = "submit")]
    pub tasks: Option<u32>,

    /// With --submit: the time limit of a task.
    #[arg(long, default_value = "1h", value_name = "LIMIT", value_parser = TimeParser)]
    pub task_time: Time,

    /// With --submit: an option for the engine, such as --partition=short; may be repeated.
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true, requires = "submit")]
    pub engine_option: Vec<String>,

    /// With --submit: write the script, and do not submit it.
    #[arg(long, requires = "submit")]
    pub script_only: bool,

    /// Plan the command of this plan again, with what its workers found out about the program.
    #[arg(long, value_name = "PLAN", conflicts_with = "command")]
    pub again: Option<PathBuf>,

    /// The command to split: simulate, stress, check or verify, with its arguments.
    #[arg(
        value_name = "COMMAND",
        required_unless_present = "again",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<String>,
}

/// What runs workers.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// A job array of Slurm, and a job after it that merges
    Slurm,
}

/// `membar work`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar work night                 every shard that is not done, one after the other
  membar work night 17              one of them
  membar work night 1-20 40         several
  membar work night 3/100           every hundredth, from the third on: task 3 of 100
  seq 8 | xargs -P 8 -I{} membar work night {}/8
  parallel --sshlogin a,b,c membar work $PWD/night {}/30 ::: $(seq 30)

A worker can be killed at any time, and two may run the same shard: results appear complete or not at all, and the first \
one counts. Ctrl-C and SIGTERM keep the tests and executions so far, and give back the rest as new shards.
Exit codes: 0 these shards are done, whatever was found; 3 some are not: try again; 2 trying again is no use (another \
version, another kind of machine, a changed input, a damaged shard); 4 a bug in membar.")]
pub struct WorkArgs {
    /// The directory of the plan.
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,

    /// Shards: 7, 7.2, 1-20, or 3/100 [default: all that are not done]
    #[arg(value_name = "SHARD")]
    pub shards: Vec<String>,

    /// Stop after this time, and give back what is left of the current shard: 50m, or none.
    #[arg(long, default_value = "none", value_name = "LIMIT", value_parser = TimeParser)]
    pub time: Time,

    /// Do not print a line for each shard.
    #[arg(short, long)]
    pub quiet: bool,
}

/// `membar merge`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar merge night                            as the command of the plan would have printed it
  membar merge night --html report.html --format json > night.json

If shards are missing, merge prints the result so far, and names them on standard error. Merge again when they are done.
Exit codes: those of the command of the plan; 3 if something is missing and nothing was found, 2 bad usage.")]
pub struct MergeArgs {
    /// The directory of the plan.
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,

    /// The format of the result, instead of the one in the plan.
    #[arg(short, long, value_name = "FORMAT")]
    pub format: Option<String>,

    /// Also write a page to this file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// `membar status`
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  membar status night                       shards done, findings, stragglers
  watch membar status night
  membar status night --html status.html    a page that reloads itself; repeat this to update it
  membar status night --format json

Exit codes: 0 complete, 3 not complete, 2 bad usage.")]
pub struct StatusArgs {
    /// The directory of the plan.
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,

    /// The format of the output.
    #[arg(short, long, value_enum, default_value_t = super::DataFormat::Text, value_name = "FORMAT")]
    pub format: super::DataFormat,

    /// Also write a page to this file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}
