//! Reads traces, decides each under several models, and certifies every answer. Then a proof is tampered with, and refused.
//!
//! `cargo run -p membar --example check_a_trace [FILE]`

use membar::certify::Flaw;
use membar::{Certifier, Checker, Limits, Model, Proof, Reader, Trace, Verdict};
use std::error::Error;

const TRACES: &str = "\
# store buffering
0: x := 1
0: y == 0
1: y := 1
1: x == 0
check
# message passing: the flag is seen and the data is not
0: data := 1
0: flag := 1
1: flag == 1
1: data == 0
check
";

fn main() -> Result<(), Box<dyn Error>> {
    let mut reader = match std::env::args_os().nth(1) {
        Some(path) => Reader::open(path)?,
        None => Reader::new("built in", TRACES.as_bytes()),
    };
    let models: Vec<Model> = ["sc", "tso", "pso"].into_iter().map(membar::model::load).collect::<Result<_, _>>()?;
    // Both keep their buffers from one trace to the next.
    let (mut checker, mut certifier) = (Checker::new(), Certifier::new());
    let (mut trace, mut refused) = (Trace::new(), 0);
    while let Some(read) = reader.next(&mut trace) {
        read?;
        for model in &models {
            let outcome = checker.check(&trace, model, &Limits::default());
            certifier.verdict(&trace, model, &outcome.verdict)?;
            let (number, verdict) = (reader.trace_index() + 1, outcome.verdict.name());
            println!("trace {number}: {verdict} by {} ({})", model.name, outcome.algorithm.name());
            if let Verdict::Forbidden(proof) = outcome.verdict {
                let flaw = certifier.proof(&trace, model, &tampered(proof)).expect_err("it is no proof any more");
                report(&flaw);
                refused += 1;
            }
        }
    }
    println!("{refused} tampered proofs, all refused");
    Ok(())
}

/// The proof with the first step of its last lemma reversed.
fn tampered(mut proof: Proof) -> Proof {
    if let Proof::Cycle(lemmas) = &mut proof
        && let Some(step) = lemmas.last_mut().and_then(|lemma| lemma.steps.first_mut())
    {
        std::mem::swap(&mut step.from, &mut step.to);
    }
    proof
}

fn report(flaw: &Flaw) {
    println!("  tampered with: {flaw}");
}
