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
