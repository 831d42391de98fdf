//! Prints what membar, loom and shuttle make of the same programs: executions, time and what each finds.
//!
//! `cargo run --release --features others` in this directory; `cargo membar` has to be installed.

use side_by_side::{on_loom, on_shuttle};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

static RUNS: AtomicU64 = AtomicU64::new(0);
/// Shuttle explores no more than this: it has no reduction.
const MOST: usize = 20_000;
/// Nor executions with more steps: it does not know waiting loops.
const STEPS: usize = 200;

struct Row {
    executions: u64,
    seconds: f64,
    found: String,
}

/// Runs a tool, which runs the program through [`counted`].
fn measured(most: u64, tool: impl FnOnce()) -> Row {
    RUNS.store(0, Relaxed);
    let began = Instant::now();
    let failed = catch_unwind(AssertUnwindSafe(tool)).is_err();
    let (executions, seconds) = (RUNS.load(Relaxed), began.elapsed().as_secs_f64());
    let cut = executions >= most;
    let found = if failed {
        "fails"
    } else if cut {
        "stopped"
    } else {
        "passes"
    };
    Row { executions, seconds, found: found.into() }
}

fn counted(program: fn()) {
    RUNS.fetch_add(1, Relaxed);
    program();
}

fn loom(program: fn()) -> Row {
    measured(u64::MAX, || {
        let mut builder = loom::model::Builder::new();
        builder.max_branches = 100_000;
        builder.check(move || counted(program));
    })
}

fn shuttle(program: fn()) -> Row {
    let mut config = shuttle::Config::new();
    config.max_steps = shuttle::MaxSteps::ContinueAfter(STEPS);
    let scheduler = shuttle::scheduler::DfsScheduler::new(Some(MOST), false);
    measured(MOST as u64, || {
        shuttle::Runner::new(scheduler, config).run(move || counted(program));
    })
}

/// What `cargo membar test` says.
fn membar() -> serde_json::Value {
    let ran = Command::new("cargo").args(["membar", "test", "--lib", "--format", "json"]).output();
    let ran = ran.expect("cargo membar is installed");
    serde_json::from_slice(&ran.stdout).expect("a JSON document")
}

type Program = (&'static str, fn(), fn());

const PROGRAMS: [Program; 5] = [
    ("mp_relaxed", on_loom::mp_relaxed::run, on_shuttle::mp_relaxed::run),
    ("sb_seqcst", on_loom::sb_seqcst::run, on_shuttle::sb_seqcst::run),
    ("lock_relaxed", on_loom::lock_relaxed::run, on_shuttle::lock_relaxed::run),
    ("counter", on_loom::counter::run, on_shuttle::counter::run),
    ("treiber", on_loom::treiber::run, on_shuttle::treiber::run),
];

/// Has a process of its own run a tool: a tool that fails leaves its state behind.
fn apart(tool: &str, name: &str) -> Row {
    let me = std::env::current_exe().expect("a path");
    let ran = Command::new(me).args([tool, name]).env("SHUTTLE_SILENCE_ORDERING_WARNING", "1").output();
    let said = String::from_utf8(ran.expect("it runs").stdout).expect("UTF-8");
    let mut words = said.split_whitespace();
    let mut next = || words.next().expect("three words");
    let (executions, seconds) = (next().parse().expect("a number"), next().parse().expect("a number"));
    Row { executions, seconds, found: next().to_owned() }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [tool, name] = &words[..] {
        let (_, on_loom, on_shuttle) = PROGRAMS.iter().find(|program| program.0 == name).expect("one of ours");
        let Row { executions, seconds, found } = if tool == "loom" { loom(*on_loom) } else { shuttle(*on_shuttle) };
        println!("{executions} {seconds} {found}");
        return;
    }
    let document = membar();
    println!("| program | tool | executions | time | per second | finds |\n|---|---|---|---|---|---|");
    for (name, _, _) in PROGRAMS {
        let results = document["results"].as_array().expect("results");
        let said = results.iter().find(|said| said["program"].as_str().is_some_and(|p| p.ends_with(name)));
        let said = said.expect("every program has a test");
        let weak = &said["weak"];
        let executions = said["interleavings"].as_u64().unwrap_or(0) + weak["executions"].as_u64().unwrap_or(0);
        let seconds = said["seconds"].as_f64().unwrap_or(0.0) + weak["seconds"].as_f64().unwrap_or(0.0);
        let found = if said["verdict"] == "safe" { "passes" } else { "fails" };
        let ours = Row { executions, seconds, found: found.into() };
        for (tool, row) in [("membar", ours), ("loom", apart("loom", name)), ("shuttle", apart("shuttle", name))] {
            let Row { executions, seconds, found } = row;
            println!(
                "| {name} | {tool} | {executions} | {:.1} ms | {:.0} | {found} |",
                seconds * 1e3,
                executions as f64 / seconds.max(1e-9)
            );
        }
    }
}
