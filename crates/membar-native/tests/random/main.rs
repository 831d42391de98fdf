//! Random programs, compiled and explored. This test is its own child process, so it has no harness.
//!
//! `--ignored` runs more of them; `MEMBAR_NATIVE_PROGRAMS=n`, `MEMBAR_MIXED_PROGRAMS=n`, `MEMBAR_BYTES_PROGRAMS=n`,
//! `MEMBAR_TORN_PROGRAMS=n` and `MEMBAR_LOOP_PROGRAMS=n` set how many.

mod litmus;
mod loops;
mod mixed;
mod torn;

use membar_native::Options;
use membar_native::process::{self, Setup};
use std::path::Path;

/// How many programs: as the variable says, or as the tier has them.
fn programs(variable: &str, short: usize, long: usize) -> usize {
    let given = std::env::var(variable).ok().map(|n| n.parse().unwrap_or_else(|_| panic!("{variable} is a number")));
    let all = std::env::args().any(|arg| arg == "--ignored" || arg == "--include-ignored");
    given.unwrap_or(if all { long } else { short })
}

/// A child that runs one of the programs of an object.
fn setup(object: &Path, dir: &Path, program: usize) -> Setup {
    Setup {
        exe: std::env::current_exe().expect("this test"),
        exe_args: vec!["serve".into()],
        object: object.into(),
        args: vec!["program".into(), program.to_string().into()],
        around: Default::default(),
        dir: dir.into(),
        options: Options { heap: 1 << 20, symmetry: true, ..Options::default() },
        show: false,
        until: None,
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("serve") => process::serve().expect("pipes"),
        Some("--list") => {}
        _ => {
            litmus::run(programs("MEMBAR_NATIVE_PROGRAMS", 40, 160));
            mixed::run(programs("MEMBAR_MIXED_PROGRAMS", 40, 100));
            let small = programs("MEMBAR_BYTES_PROGRAMS", 40, 300);
            mixed::against_the_machine(small, None, false);
            mixed::against_the_machine(small, Some("clang"), false);
            mixed::against_the_machine(small, None, true);
            torn::run(programs("MEMBAR_TORN_PROGRAMS", 40, 300));
            loops::run(programs("MEMBAR_LOOP_PROGRAMS", 40, 400));
        }
    }
}
