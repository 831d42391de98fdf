//! Benchmarks of the `membar` command.
//!
//! ```text
//! cargo run --release -p membar-bench -- floors             does it meet what was promised?
//! cargo run --release -p membar-bench -- figures --quick    figures 6 to 8 of the TSOtool paper
//! cargo run --release -p membar-bench -- grid --n 128K      one line a trace
//! cargo run --release -p membar-bench -- explore            interleavings and classes per second, with and without monitors
//! cargo run --release -p membar-bench -- monitor            events per second against threads and length
//! cargo run --release -p membar-bench -- litmus             litmus tests per second
//! cargo run --release -p membar-bench -- weak               executions of the models: graphs per second beside classes per second
//! cargo run --release -p membar-bench -- native             C and C++ programs: executions per second, memory, first violation
//! cargo run --release -p membar-bench -- locks              figures 4 and 5 of the MODV paper: locks and time
//! cargo run --release -p membar-bench -- detect             tests and operations until each bug of a simulated machine is found
//! cargo run --release -p membar-bench -- scale              plans for many machines: overhead and speed-up
//! cargo run --release -p membar-bench -- results            the tables of docs/results.md
//! cargo run --release -p membar-bench -- write --n 1M --out large.trace
//! ```
//!
//! Traces come from `membar-simulate` and are decided from text by `membar check`, in a new process each time, so time
//! and memory are what a user sees: starting, reading, deciding, certifying. Traces are written by another process,
//! too: the memory of a process that starts another one counts as that one's.
//!
//! C and C++ programs are explored from the libraries, too; the processes that run them are this program again, with its
//! hidden command `run-program`.
//!
//! `membar monitor` and `membar litmus` are measured in the same way. Exploration is measured from the libraries: with and
//! without a monitor in turn, in one process, since what is asked is how they differ.
//!
//! | file | does |
//! |---|---|
//! | `cli` | flags |
//! | `case` | which trace: machine, mix, n, p, a, seed; making and writing it |
//! | `child` | runs a process, measures time and memory, reads the answer |
//! | `check` | `--in-process`: the same job without `membar`, and with the paper's plan |
//! | `grid`, `figures`, `locks` | results about `membar check` |
//! | `detect` | results about `membar simulate` |
//! | `scale` | results about `membar plan`, `work` and `merge` |
//! | `explore`, `monitor`, `litmus` | results about programs and interleavings |
//! | `native`, `speed` | C and C++ programs: running them; how fast that is |
//! | `results`, `published` | the benchmarks of the papers, and what the papers say |
//! | `floors` | everything that was promised, met or missed |
//! | `table`, `host` | how and where results are shown and kept |

mod case;
mod check;
mod child;
mod cli;
mod detect;
mod error;
mod explore;
mod figures;
mod floors;
mod grid;
mod host;
mod litmus;
mod locks;
mod monitor;
mod scale;
mod table;

// Programs are run as x86-64 code, with what Linux offers for that.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod published;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod reductions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod results;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod speed;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod weak;

use clap::Parser;
use cli::{Cli, Command};
use error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<ExitCode, Error> {
    match command {
        Command::Grid(args) => grid::run(&args),
        Command::Figures(args) => figures::run(&args),
        Command::Locks(args) => locks::run(&args),
        Command::Detect(args) => detect::run(&args),
        Command::Explore(args) => explore::run(&args),
        Command::Once(args) => explore::once(&args),
        Command::Monitor(args) => monitor::run(&args),
        Command::Litmus(args) => litmus::run(&args),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Command::Native(args) => speed::run(&args),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Command::Results(args) => results::run(&args),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Command::Weak(args) => weak::run(&args),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Command::RunProgram => native::serve(),
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
        Command::Native(_) | Command::Results(_) | Command::Weak(_) | Command::RunProgram => Err(Error::Platform),
        Command::Scale(args) => scale::run(&args),
        Command::Floors(args) => floors::run(&args),
        Command::Write(args) => case::write(&args),
        Command::WriteSmall(args) => case::write_small(&args),
        Command::WriteInterleaving(args) => case::write_interleaving(&args),
        Command::Check(args) => check::run(&args),
        Command::Parse(args) => check::parse(&args),
    }
}
