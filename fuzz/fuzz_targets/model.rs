//! Any text is a model or an error that can be shown; what is accepted keeps the invariant of `Model` and means the same to
//! the checker and to the oracle.
#![no_main]

use libfuzzer_sys::fuzz_target;
use membar_check::Checker;
use membar_core::{Kind, Model, Trace};
use membar_fuzz::agree;
use membar_testkit::{Small, small};
use std::sync::OnceLock;

/// A few traces to try accepted models on.
fn traces() -> &'static [Trace] {
    static TRACES: OnceLock<Vec<Trace>> = OnceLock::new();
    TRACES.get_or_init(|| (0..6).map(|seed| small(&Small { ops: 4..=7, ..Small::ALL }, seed)).collect())
}

fn assert_sound(model: &Model) {
    assert!(!model.name.is_empty());
    let on_one = |earlier, later| model.ppo.entry(earlier, later).on_one_address();
    assert!(on_one(Kind::Load, Kind::Store) && on_one(Kind::Store, Kind::Store));
    if model.coherence {
        assert!(model.write_order && model.ppo.entry(Kind::Load, Kind::Load).coherent());
        assert!(model.store_forwarding || on_one(Kind::Store, Kind::Load));
    }
    assert!(model.write_order || on_one(Kind::Store, Kind::Load));
    let locks = [Kind::Acquire, Kind::Release];
    assert!(!model.lock_exclusion || locks.iter().all(|&e| locks.iter().all(|&l| on_one(e, l))));
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
            assert!(place.line >= 1 && place.column >= 1 && place.excerpt.width >= 1, "{place:?}");
        }
    }
});
