//! Any bytes are a litmus test or an error that can be shown; what is read runs under every model, both implementations
//! agree where both finish, and weaker models have all states of stronger ones.
#![no_main]

use libfuzzer_sys::fuzz_target;
use membar_litmus::{Limits, LitmusTest, Method, Model, Record, crash_message, outcomes, outcomes_by};

fuzz_target!(|bytes: &[u8]| {
    let test = match LitmusTest::parse("any.litmus", bytes) {
        Ok(test) => test,
        Err(error) => {
            let shown = error.render();
            assert!(shown.starts_with("error: ") && shown.contains("--> any.litmus"), "{shown}");
            assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
            assert!(error.line == 0 || error.column >= 1, "{shown}");
            return;
        }
    };
    // Long local loops are slow rather than wrong.
    if test.code.threads.len() > 4 || test.code.threads.iter().any(|thread| thread.instrs.len() > 60) {
        return;
    }
    let limits = Limits { steps: 20_000, states: 2_000, ..Limits::default() };
    let mut before: Option<Vec<Vec<u64>>> = None;
    for &model in Model::of(test.arch).iter().filter(|model| **model != Model::C11) {
        let found = outcomes(&test, model, &limits);
        if let Some(crash) = found.crash {
            assert!(crash_message(&test, "any.litmus", model, crash).starts_with("error: "));
        }
        let record = Record { test: &test, model, outcomes: &found, seconds: 0.0 };
        let mut text = String::new();
        record.write_text(&mut text);
        assert!(text.starts_with("Test ") && text.ends_with("\n\n"), "{text}");
        assert!(record.json("any.litmus").is_object());
        if found.method == Method::Executions && test.arch.has_store_buffers() {
            let other = outcomes_by(Method::Machine, &test, model, &limits).expect("the machine runs everything");
            if other.complete && found.crash.is_none() && other.crash.is_none() {
                assert_eq!(found.states, other.states, "{model}");
            }
        }
        if found.complete && found.crash.is_none() {
            if let Some(before) = &before {
                assert!(before.iter().all(|state| found.states.contains(state)), "{model}");
            }
            before = Some(found.states);
        } else {
            before = None;
        }
    }
});
