//! Published tests with known states: all rows, by both implementations.

use membar_litmus::{Limits, LitmusTest, Method, Model, Record, outcomes_by};
use std::collections::BTreeMap;

#[test]
#[ignore = "needs the published collections in MEMBAR_PUBLISHED"]
fn published_tests_have_their_states() {
    let directory = crate::published("litmus");
    let verdicts = std::fs::read_to_string(directory.join("verdicts.tsv")).expect("verdicts.tsv");
    let mut tests: BTreeMap<&str, LitmusTest> = BTreeMap::new();
    let mut rows = 0;
    for row in verdicts.lines().skip(1) {
        let [name, model, verdict, states] = row.split('\t').collect::<Vec<_>>()[..] else { panic!("{row}") };
        let test = tests.entry(name).or_insert_with(|| {
            let bytes = std::fs::read(directory.join(format!("{name}.litmus"))).expect("a test");
            LitmusTest::parse(name, &bytes).unwrap_or_else(|error| panic!("{}", error.render()))
        });
        assert_eq!(test.name, name);
        let model: Model = model.parse().expect("a model");
        for method in [Method::Executions, Method::Machine] {
            let outcomes = outcomes_by(method, test, model, &Limits::default()).expect("small");
            assert!(outcomes.complete && outcomes.crash.is_none());
            let record = Record { test, model, outcomes: &outcomes, seconds: 0.0 };
            let mine: Vec<String> = outcomes.states.iter().map(|state| record.state_text(state)).collect();
            assert_eq!(mine.join(" | "), states.trim(), "{name} {model} {method:?}");
            assert_eq!(if record.ok() { "allowed" } else { "forbidden" }, verdict, "{name} {model} {method:?}");
        }
        rows += 1;
    }
    assert_eq!((tests.len(), rows), (250, 731));
}

/// States of a test of two threads that store 1 and 2 to `x` and of which one loads it into `x7`, with the threads exchanged.
fn turned_round(states: &str) -> String {
    let turn = |state: &str| {
        let values = state.trim().strip_prefix("1:x7=").and_then(|rest| rest.strip_suffix(';')?.split_once("; [x]="));
        let (loaded, last) = values.unwrap_or_else(|| panic!("{state}"));
        let other = |value: &str| 3 - value.parse::<u8>().expect("1 or 2");
        format!("0:x7={}; [x]={};", other(loaded), other(last))
    };
    let mut all: Vec<String> = states.split('|').map(turn).collect();
    all.sort();
    all.join(" | ")
}

/// Every row of a collection whose table has name, model, kind of the condition, observation, how many states, the states.
fn rows_have_their_states(collection: &str, tests: usize, rows: usize) {
    let directory = crate::published(collection);
    let verdicts = std::fs::read_to_string(directory.join("verdicts.tsv")).expect("verdicts.tsv");
    let (mut seen, mut wrong) = (BTreeMap::new(), Vec::new());
    let mut count = 0;
    for row in verdicts.lines() {
        let [name, model, kind, observation, number, states] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        // The table has this test with its threads the other way round, and with a `forall` for the `~exists` of the file.
        let turned = name == "CoWR";
        let states = if turned { turned_round(states) } else { states.trim().to_owned() };
        let (kind, observation) = if turned { ("Forbidden", "Never") } else { (kind, observation) };
        let test = seen.entry(name).or_insert_with(|| {
            let bytes = std::fs::read(directory.join(format!("{name}.litmus"))).expect("a test");
            LitmusTest::parse(name, &bytes).unwrap_or_else(|error| panic!("{}", error.render()))
        });
        let model: Model = model.parse().expect("a model");
        let outcomes =
            outcomes_by(Method::Executions, test, model, &Limits::default()).expect("a model of the dialect");
        let record = Record { test, model, outcomes: &outcomes, seconds: 0.0 };
        let mine: Vec<String> = outcomes.states.iter().map(|state| record.state_text(state)).collect();
        let mut text = String::new();
        record.write_text(&mut text);
        let right = mine.join(" | ") == states
            && mine.len().to_string() == number
            && text.starts_with(&format!("Test {name} {kind}\n"))
            && outcomes.observation() == observation
            && outcomes.complete
            && outcomes.crash.is_none();
        if !right {
            wrong.push(format!(
                "{name} {model}: {} {}\n  is {}\n  not {}",
                outcomes.observation(),
                observation,
                mine.join(" | "),
                states
            ));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!((seen.len(), count), (tests, rows));
}

#[test]
#[ignore = "needs the published collections in MEMBAR_PUBLISHED"]
fn published_riscv_tests_have_their_states() {
    rows_have_their_states("riscv", 644, 1288);
}

#[test]
#[ignore = "needs the published collections in MEMBAR_PUBLISHED"]
fn published_aarch64_tests_have_their_states() {
    rows_have_their_states("aarch64", 200, 200);
}
