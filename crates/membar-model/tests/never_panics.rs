//! Any text is a model or an error that can be shown; whatever is accepted keeps the invariant of `Model`.

use membar_model::{parse, source};
use proptest::prelude::*;

fn decide(text: &str) -> bool {
    match parse("any.toml", text) {
        Ok(model) => {
            assert!(model.ppo.load_store.on_one_address() && model.ppo.store_store.on_one_address());
            if model.coherence {
                assert!(model.ppo.load_load.on_one_address());
                assert!(model.store_forwarding || model.ppo.store_load.on_one_address());
            }
            assert!(!model.name.is_empty());
            true
        }
        Err(error) => {
            let shown = error.to_string();
            let place = error.place.expect("a fault of a text has a place");
            assert!(place.line >= 1 && place.column >= 1 && place.width >= 1);
            assert!(
                shown.starts_with("error: ") && shown.contains(&format!("any.toml:{}:{}", place.line, place.column))
            );
            false
        }
    }
}

/// Pieces of model files: put together at random they reach further than random characters do.
fn piece() -> impl Strategy<Value = String> {
    let keys = ["name", "title", "ppo", "load-load", "store-load", "barriers", "sync", "axioms", "coherence", "x"];
    let values = [
        "\"always\"",
        "\"never\"",
        "[\"time\"]",
        "[\"same-address\", \"time\"]",
        "true",
        "[]",
        "{}",
        "1",
        "\"a\"",
        "é",
    ];
    prop_oneof![
        prop::sample::select(keys.to_vec()).prop_map(str::to_owned),
        prop::sample::select(values.to_vec()).prop_map(str::to_owned),
        prop::sample::select(vec![
            "=", " = ", "\n", "\r\n", "[", "]", "\"\"\"", "'", "#", ".", ",", "{", "}", "\t", "\\", "\0", "\u{feff}"
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ]
}

/// A built-in text with some of its characters replaced by pieces.
fn mutated() -> impl Strategy<Value = String> {
    let base = prop::sample::select(vec!["sc", "tso", "pso", "wmo", "rmo"]);
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, piece()), 0..4);
    (base, edits).prop_map(|(base, edits)| {
        let mut text: Vec<char> = source(base).unwrap().replace(&format!("\"{base}\""), "\"m\"").chars().collect();
        for (at, length, piece) in edits {
            let at = at.index(text.len() + 1);
            let end = (at + length).min(text.len());
            text.splice(at..end, piece.chars());
        }
        text.into_iter().collect()
    })
}

/// A well-formed file with random settings: about as often accepted as refused.
fn settings() -> impl Strategy<Value = String> {
    let when = || {
        let lists = vec!["\"always\"", "\"never\"", "\"same-address\"", "\"time\"", "[\"same-address\", \"time\"]"];
        prop::sample::select(lists)
    };
    (when(), when(), when(), when(), any::<bool>(), any::<bool>()).prop_map(|(a, b, c, d, forwarding, coherence)| {
        format!(
            "name = 'm'\n[ppo]\nload-load = {a}\nload-store = {b}\nstore-load = {c}\nstore-store = {d}\n\
             [axioms]\nstore-forwarding = {forwarding}\ncoherence = {coherence}\n"
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn on_any_string(text in any::<String>()) {
        decide(&text);
    }

    #[test]
    fn on_pieces(pieces in prop::collection::vec(piece(), 0..40)) {
        decide(&pieces.concat());
    }

    #[test]
    fn on_mutated_files(text in mutated()) {
        decide(&text);
    }

    #[test]
    fn on_settings(text in settings()) {
        decide(&text);
    }
}

#[test]
fn both_outcomes_occur() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for strategy in [mutated().boxed(), settings().boxed()] {
        let accepted = (0..300).filter(|_| decide(&strategy.new_tree(&mut runner).unwrap().current())).count();
        assert!((20..280).contains(&accepted), "{accepted} of 300 accepted");
    }
}

#[test]
fn deep_nesting_is_an_error() {
    decide(&format!("a = {}", "[".repeat(200_000)));
    decide(&format!("a = {}", "{a=".repeat(200_000)));
    decide(&format!("{}a = 1", "a.".repeat(200_000)));
}
