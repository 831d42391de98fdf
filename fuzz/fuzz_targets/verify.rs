//! Whatever is read as a litmus test can be verified: every violation is confirmed by a run on a machine with buffers,
//! strategies agree where they finish, and a safe program has the final states of SC.
#![no_main]

use libfuzzer_sys::fuzz_target;
use membar_certify::replay;
use membar_core::Relaxation;
use membar_explore::Strategy;
use membar_litmus::LitmusThreads;
use membar_litmus::{Interpreter, Limits, LitmusTest, Model, outcomes};
use membar_verify::{Checkpoint, Effort, Settings, Verification, Watching, explain};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fuzz_target!(|bytes: &[u8]| {
    let Ok(test) = LitmusTest::parse("any.litmus", bytes) else { return };
    if !test.arch.has_store_buffers() {
        return;
    }
    // Long local loops are slow rather than wrong.
    if test.code.threads.len() > 4 || test.code.threads.iter().any(|thread| thread.instrs.len() > 60) {
        return;
    }
    let code = Arc::new(test.code.clone());
    let limits = Limits { steps: 20_000, states: 2_000, ..Limits::default() };
    for (model, machine) in [(Relaxation::Tso, Model::Tso), (Relaxation::Pso, Model::Pso)] {
        let mut safe = Vec::new();
        for strategy in [Strategy::Dpor, Strategy::Exhaustive] {
            let settings = Settings { strategy, watching: Watching::Class, max_steps: 60, ..Settings::new(model) };
            let mut program = Interpreter::new(Arc::clone(&code));
            let effort = Effort { max_executions: 300, ..Effort::default() };
            let mut verification = Verification::local(Checkpoint::new(settings), program.clone(), effort);
            while !verification.is_done() && !verification.is_out_of_executions() {
                verification.advance(&AtomicBool::new(false));
            }
            let checkpoint = verification.checkpoint();
            for found in &checkpoint.seen.violations {
                let explained = explain(&mut program, found).expect("a violation can be explained");
                let (steps, claims) = (explained.steps(), explained.claims());
                assert!(
                    replay::confirms(&mut LitmusThreads::new(&code), model, &steps, &claims),
                    "the run is possible and not SC"
                );
            }
            if checkpoint.is_complete() {
                safe.push(checkpoint.seen.violations.is_empty());
            }
        }
        assert!(safe.windows(2).all(|pair| pair[0] == pair[1]), "strategies disagree");
        if safe.first() == Some(&true) {
            let (sc, weak) = (outcomes(&test, Model::Sc, &limits), outcomes(&test, machine, &limits));
            if sc.complete && weak.complete && sc.crash.is_none() && weak.crash.is_none() {
                assert_eq!(sc.states, weak.states, "a safe program has more states than under SC");
            }
        }
    }
});
