//! Verifies a litmus test under both models and, where it is unsafe, shows the run with its store buffers, certified.
//!
//! `cargo run -p membar --example verify_a_litmus_test [FILE.litmus]`

use membar::certify::replay::confirms;
use membar::core::Relaxation;
use membar::litmus::LitmusTest;
use membar::litmus::LitmusThreads;
use membar::verify::{RunStep, Settings, Verdict, explain, verify};
use std::error::Error;

const MP: &str = "\
X86 MP
{ data=0; flag=0; }
 P0            | P1            ;
 MOV [data],$1 | MOV EAX,[flag] ;
 MOV [flag],$1 | MOV EBX,[data] ;
exists (1:EAX=1 /\\ 1:EBX=0)
";

fn main() -> Result<(), Box<dyn Error>> {
    let test = match std::env::args().nth(1) {
        Some(path) => LitmusTest::parse(&path, &std::fs::read(&path)?)?,
        None => LitmusTest::parse("MP.litmus", MP.as_bytes())?,
    };
    for model in [Relaxation::Tso, Relaxation::Pso] {
        let result = verify(&test.program(), Settings::new(model));
        let (name, classes) = (model.name(), result.counts().executions);
        println!("{} under {name}: {:?}, {classes} classes", test.name, result.verdict());
        if result.verdict() != Verdict::Unsafe {
            continue;
        }
        for found in &result.seen.violations {
            let run = explain(&mut test.program(), found).ok_or("every violation has an execution")?;
            let certified = confirms(&mut LitmusThreads::new(&test.code), model, &run.steps(), &run.claims());
            println!("  {} steps, {} fences needed, certified: {certified}", run.run.len(), run.fences.len());
            for step in &run.run {
                let (what, event) = match *step {
                    RunStep::Issue(event) => ("P", event),
                    RunStep::Commit(event) => ("the buffer of P", event),
                };
                let event = &run.events[event];
                println!("    {what}{}: {}", event.thread, test.code.sites[event.access.site as usize].text);
            }
        }
    }
    Ok(())
}
