//! Random programs on a simulated machine with a bug, until a model forbids what it did; then the few operations that matter.
//! Last, the same kind of program on the cores of this machine.
//!
//! `cargo run -p membar --example stress_a_machine`

use membar::simulate::{Machine, Observe, Setup, profile, trace};
use membar::stress::{Runner, Settings};
use membar::{Checker, Limits, decide};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let profile = profile::builtin("default").ok_or("it is built in")?;
    let tso = membar::model::load("tso")?;

    let machine = Setup::from(Machine::MesiTso).with("stale-forward")?;
    for seed in 1..=50 {
        let program = profile.program(seed)?;
        let run = machine.run(&program, seed);
        let trace = trace(&program, &run.record, None, Observe::default())?;
        let answer = decide(&trace, &tso, &Limits::default())?;
        println!("{machine}, seed {seed}: {} operations, {}", trace.len(), answer.verdict());
        if answer.verdict() == membar::VerdictKind::Forbidden {
            let part = Checker::new().shrink(&trace, &tso, &Limits::default()).ok_or("it is forbidden")?;
            let mut text = Vec::new();
            membar::trace::write_trace(&part.trace, &mut text)?;
            print!("the {} that matter:\n{}", part.ops.len(), String::from_utf8(text)?);
            break;
        }
    }

    // Real cores obey tso on x86, and something weaker elsewhere.
    let weakest = membar::model::load("wmo")?;
    let program = profile.program(1)?;
    let mut runner = Runner::new(Settings::default())?;
    let recorded = runner.run(&program, 1)?;
    let trace = recorded.trace(&program, Observe::default())?;
    println!("this machine: {}", decide(&trace, &weakest, &Limits::default())?.verdict());
    Ok(())
}
