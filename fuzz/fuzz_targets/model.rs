//! Any text is a model or an error that can be shown; what is accepted keeps the invariant of `Model` and means the same to
//! the checker and to the oracle.
#![no_main]

use libfuzzer_sys::fuzz_target;
use membar_check::Checker;
use membar_core::{Model, Trace};
use membar_fuzz::agree;
use membar_stress::{Small, small};
use std::sync::OnceLock;

/// A few traces to try accepted models on.
fn traces() -> &'static [Trace] {
    static TRACES: OnceLock<Vec<Trace>> = OnceLock::new();
    TRACES.get_or_init(|| (0..6).map(|seed| small(&Small { ops: 4..=7, ..Small::ALL }, seed)).collect())
}

fn assert_sound(model: &Model) {
    assert!(!model.name.is_empty());
    assert!(model.ppo.load_store.on_one_address() && model.ppo.store_store.on_one_address());
    if model.coherence {
        assert!(model.ppo.load_load.on_one_address());
        assert!(model.store_forwarding || model.ppo.store_load.on_one_address());
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match membar_model::parse("any.toml", text) {
        Ok(model) => {
            assert_sound(&model);
            assert_eq!(membar_model::parse("again.toml", text).as_ref(), Ok(&model));
            let mut checkers = [Checker::new(), Checker::with_plan(membar_check::Plan::Paper)];
            for trace in traces() {
                agree(trace, &model, &mut checkers);
            }
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(shown.starts_with("error: ") && shown.contains("any.toml:"), "{shown}");
            let place = error.place.expect("a fault of a text has a place");
            assert!(place.line >= 1 && place.column >= 1 && place.width >= 1, "{place:?}");
        }
    }
});
