//! Tests written by hand (corpus/litmus/*.litmus) have the states of corpus/litmus/states.tsv, and the examples for users say
//! what is true.

use membar_litmus::{Arch, Limits, LitmusTest, Method, Model, Quantifier, Record, outcomes, outcomes_by};
use membar_testkit::litmus_tests;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Those in a folder of the repository, by name.
fn litmus_files(folder: &str) -> BTreeMap<String, LitmusTest> {
    litmus_tests(folder).into_iter().inspect(|(name, test)| assert_eq!(test.name, *name)).collect()
}

#[test]
fn tests_by_hand_have_their_states() {
    let tests = litmus_files("corpus/litmus");
    let rows = std::fs::read_to_string(root().join("corpus/litmus/states.tsv")).expect("states");
    let mut seen = BTreeSet::new();
    for row in rows.lines().skip(1) {
        let [name, model, holds, states] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let test = &tests[name];
        let model: Model = model.parse().expect("a model");
        for method in [Method::Executions, Method::Machine] {
            // Programs with loops only run.
            let Some(outcomes) = outcomes_by(method, test, model, &Limits::default()) else { continue };
            assert!(outcomes.complete && outcomes.crash.is_none(), "{row}");
            let record = Record { test, model, outcomes: &outcomes, seconds: 0.0 };
            let mine: Vec<String> = outcomes.states.iter().map(|state| record.state_text(state)).collect();
            assert_eq!(mine.join(" | "), states, "{name} {model} {method:?}");
            assert_eq!(if record.ok() { "holds" } else { "fails" }, holds, "{name} {model} {method:?}");
        }
        seen.insert((name.to_owned(), model));
    }
    assert_eq!(seen.len(), tests.len() * 3);
    // Nothing that the dialects have is missing.
    let count = |by: &dyn Fn(&LitmusTest) -> bool| tests.values().filter(|test| by(test)).count();
    for arch in [Arch::X86, Arch::X86_64, Arch::C] {
        assert!(count(&|test| test.arch == arch) >= 7, "{arch}");
    }
    for quantifier in [Quantifier::Exists, Quantifier::NotExists, Quantifier::Forall] {
        assert!(count(&|test| test.condition.quantifier == quantifier) >= 2, "{quantifier:?}");
    }
    assert!(count(&|test| test.filter.is_some()) >= 1);
    assert!(count(&|test| !membar_litmus::is_loop_free(test)) >= 4);
}

/// Which of the named tests each model allows.
#[test]
fn examples_are_allowed_where_they_say() {
    let tests = litmus_files("examples/litmus");
    let allowed =
        [("SB", "tso pso"), ("MP", "pso"), ("LB", ""), ("2+2W", "pso"), ("IRIW", ""), ("R", "tso pso"), ("S", "pso")];
    assert_eq!(tests.len(), 2 * allowed.len());
    for (name, weak) in allowed {
        for model in Model::ALL {
            let allows = |name: &str| {
                let test = &tests[name];
                outcomes(test, model, &Limits::default()).ok(test.condition.quantifier)
            };
            assert_eq!(allows(name), weak.split(' ').any(|weak| weak == model.name()), "{name} {model}");
            assert!(!allows(&format!("{name}+mfences")), "{name} {model}");
        }
    }
}

/// How many executions there are can be counted by hand for small tests.
#[test]
fn executions_are_counted() {
    let tests = litmus_files("examples/litmus");
    // sc, tso, pso: satisfying the condition, and not
    for (name, expected) in [
        ("SB", [(0, 3), (1, 3), (1, 3)]),
        ("MP", [(0, 3), (0, 3), (1, 3)]),
        ("LB", [(0, 3), (0, 3), (0, 3)]),
        ("2+2W", [(0, 3), (0, 3), (1, 3)]),
        ("IRIW", [(0, 15), (0, 15), (0, 15)]),
        ("SB+mfences", [(0, 3), (0, 3), (0, 3)]),
    ] {
        for (model, expected) in Model::ALL.into_iter().zip(expected) {
            let outcomes = outcomes(&tests[name], model, &Limits::default());
            assert_eq!((outcomes.positive, outcomes.negative), expected, "{name} {model}");
            assert_eq!(outcomes.method, Method::Executions);
        }
    }
}
