//! Any text is a model or an error that can be shown; whatever is accepted keeps the invariant of `Model`.

use membar_core::{Kind, Model};
use membar_model::{builtins, parse, source};
use proptest::prelude::*;

fn assert_sound(model: &Model) {
    let on_one = |earlier, later| model.ppo.entry(earlier, later).on_one_address();
    assert!(on_one(Kind::Load, Kind::Store) && on_one(Kind::Store, Kind::Store));
    if model.coherence {
        assert!(model.write_order && on_one(Kind::Load, Kind::Load));
        assert!(model.store_forwarding || on_one(Kind::Store, Kind::Load));
    }
    assert!(model.write_order || on_one(Kind::Store, Kind::Load));
    for earlier in Kind::ALL {
        for later in Kind::ALL {
            let when = model.ppo.entry(earlier, later);
            assert!(!model.lock_exclusion || !earlier.locks() || !later.locks() || when.on_one_address());
            // No condition stands where it never holds.
            assert!(!when.same_address || earlier.locks() == later.locks());
            assert!(!when.guarded || earlier.locks() != later.locks());
            assert!(!when.same_session || !(earlier == Kind::Release || later == Kind::Acquire));
            assert!(!when.always || when.names(earlier, later) == ["always"]);
        }
    }
    assert!(!model.name.is_empty());
}

fn decide(text: &str) -> bool {
    match parse("any.toml", text) {
        Ok(model) => {
            assert_sound(&model);
            true
        }
        Err(error) => {
            let shown = error.to_string();
            let place = error.place.expect("a fault of a text has a place");
            assert!(place.line >= 1 && place.column >= 1 && place.excerpt.width >= 1);
            assert!(
                shown.starts_with("error: ") && shown.contains(&format!("any.toml:{}:{}", place.line, place.column))
            );
            false
        }
    }
}

/// Pieces of model files: put together at random they reach further than random characters do.
fn piece() -> impl Strategy<Value = String> {
    let keys = [
        "name",
        "title",
        "ppo",
        "load-load",
        "store-load",
        "acquire-access",
        "sync-sync",
        "barriers",
        "sync",
        "axioms",
        "coherence",
        "write-order",
        "x",
    ];
    let values = [
        "\"always\"",
        "\"never\"",
        "[\"time\"]",
        "[\"same-address\", \"time\"]",
        "\"same-lock\"",
        "[\"guarded\", \"same-session\"]",
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
    let base = prop::sample::select(builtins().iter().map(|model| model.name.as_str()).collect::<Vec<_>>());
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
    let switches = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.8), prop::bool::weighted(0.8));
    (when(), when(), when(), when(), locks(), switches).prop_map(|(a, b, c, d, locks, switches)| {
        let (forwarding, coherence, exclusion, order) = switches;
        format!(
            "name = 'm'\n[ppo]\nload-load = {a}\nload-store = {b}\nstore-load = {c}\nstore-store = {d}\n{locks}\
             [axioms]\nstore-forwarding = {forwarding}\ncoherence = {coherence}\nlock-exclusion = {exclusion}\n\
             write-order = {order}\n"
        )
    })
}

/// Some keys about locks, in any order, or none.
fn locks() -> impl Strategy<Value = String> {
    let lines = vec![
        "sync-sync = 'same-lock'\n",
        "sync-sync = 'always'\n",
        "release-acquire = 'same-lock'\n",
        "acquire-access = 'same-session'\n",
        "access-release = ['same-session', 'guarded']\n",
        "load-sync = 'guarded'\n",
        "release-access = 'time'\n",
        "store-acquire = 'always'\n",
        "acquire-load = 'never'\n",
    ];
    let some = prop::sample::subsequence(lines, 0..4).prop_shuffle().prop_map(|lines| lines.concat());
    prop_oneof![Just(String::new()), some]
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
    fn on_locks(locks in locks()) {
        let base = source("pso").unwrap().replace("\"pso\"", "\"m\"");
        decide(&base.replace("[barriers]", &format!("{locks}[barriers]")));
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
        assert!((15..285).contains(&accepted), "{accepted} of 300 accepted");
    }
}

#[test]
fn deep_nesting_is_an_error() {
    decide(&format!("a = {}", "[".repeat(200_000)));
    decide(&format!("a = {}", "{a=".repeat(200_000)));
    decide(&format!("{}a = 1", "a.".repeat(200_000)));
}
