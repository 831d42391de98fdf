//! The conditions of litmus tests as `membar verify` sees them: assertions and questions.
//!
//! Catches what no other test does: `verify` and `litmus` answering one question in two ways. The one explores executions and
//! examines each as it ends, the other enumerates final states.

use crate::common;

use common::Files;
use membar::core::ProgramModel;
use membar::litmus::{Limits, LitmusTest, Model, Quantifier, outcomes};
use membar::programs::Input;
use membar::report::kinds::{ErrorKind, Property};
use membar::{ProgramVerdict, VerifyOptions, verify};
use serde_json::Value;
use std::path::{Path, PathBuf};

const SB: &str = "X86 SB\n{ }\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n";

/// Every litmus test of the corpus that runs on a machine with store buffers.
fn tests() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut tests = Vec::new();
    for folder in ["corpus/litmus", "corpus/native", "examples/litmus"] {
        let files = std::fs::read_dir(root.join(folder)).expect("a folder of tests");
        let paths = files.map(|file| file.expect("a file").path());
        tests.extend(paths.filter(|path| path.extension().is_some_and(|ending| ending == "litmus")));
    }
    tests.sort();
    tests
}

/// The text with this quantifier.
fn with(text: &str, quantifier: &str) -> Option<String> {
    let at = ["\n~exists", "\nexists", "\nforall"].iter().find_map(|word| Some((text.rfind(word)?, word.len())));
    let (at, length) = at?;
    Some(format!("{}\n{quantifier}{}", &text[..at], &text[at + length..]))
}

/// Under every model, each test of the corpus with each quantifier.
#[test]
fn oracle_conditions_hold_as_litmus_says() {
    let models = [(ProgramModel::Tso, Model::Tso), (ProgramModel::Pso, Model::Pso), (ProgramModel::C11, Model::C11)];
    let (mut compared, mut only_weak, mut failing) = (0, 0, 0);
    for path in tests() {
        let text = std::fs::read_to_string(&path).expect("a test");
        for quantifier in ["exists", "~exists", "forall"] {
            let name = format!("{} with {quantifier}", path.display());
            let Some(text) = with(&text, quantifier) else { continue };
            let test = LitmusTest::parse(&name, text.as_bytes()).expect("a test");
            let sc = outcomes(&test, Model::Sc, &Limits::default());
            for (model, named) in models {
                if !Model::of(test.arch).contains(&named) {
                    continue;
                }
                let found = outcomes(&test, named, &Limits::default());
                if !found.complete || !sc.complete || found.crash.is_some() {
                    continue;
                }
                let expected = (found.ok(test.condition.quantifier), sc.ok(test.condition.quantifier));
                let input = Input::Text { name: name.clone(), text: text.clone().into() };
                let options = VerifyOptions { models: model.into(), ..VerifyOptions::default() };
                let report = verify(input, &options).expect("a report").remove(0);
                let condition = report.condition.as_ref().expect("a condition");
                if report.errors.iter().any(|error| error.kind == ErrorKind::Race) {
                    // Such a program has no meaning.
                    assert!(condition.holds.is_none_or(|holds| holds == expected.0), "{name}, {model}");
                    continue;
                }
                assert_eq!((condition.holds, condition.holds_under_sc), (Some(expected.0), Some(expected.1)), "{name}");
                compared += 1;
                let reached = condition.schedule.is_some();
                let (asserts, refuted) = (test.asserts(), |kind| kind == ErrorKind::Condition);
                assert_eq!(reached, !asserts && expected.0, "{name}, {model}");
                match (asserts, expected) {
                    (false, (true, false)) => only_weak += 1,
                    (true, (false, true)) => {
                        failing += 1;
                        let first = &report.failures[0];
                        assert!(refuted(first.error.kind) && first.certified, "{name}, {model}");
                        assert_eq!((report.verdict, report.property), (ProgramVerdict::Fails, Property::Errors));
                    }
                    (true, (_, false)) => {
                        assert!(report.errors.iter().any(|error| refuted(error.kind)), "{name}, {model}");
                        let verdicts = [ProgramVerdict::Error, ProgramVerdict::Unsafe];
                        assert!(verdicts.contains(&report.verdict), "{name}, {model}");
                    }
                    (true, (true, true)) => {
                        assert_eq!(report.verdict, ProgramVerdict::Safe, "{name}, {model}");
                    }
                    _ => assert!(report.errors.is_empty() && report.failures.is_empty(), "{name}, {model}"),
                }
                assert_eq!(asserts, test.condition.quantifier != Quantifier::Exists);
            }
        }
    }
    assert!(compared > 400 && only_weak > 20 && failing > 20, "{compared}, {only_weak}, {failing}");
}

/// Exit codes, first lines and schedules, as users see them.
#[test]
fn assertions_and_questions() {
    let test = |condition: &str| format!("{SB}{condition}\n");
    let files = Files::new(&[
        ("never.litmus", test("~exists (0:EAX=0 /\\ 1:EAX=0)").as_bytes()),
        ("all.litmus", test("forall (0:EAX=1 \\/ 0:EAX=0)").as_bytes()),
        ("wrong.litmus", test("forall (0:EAX=1)").as_bytes()),
        ("asks.litmus", test("exists (0:EAX=0 /\\ 1:EAX=0)").as_bytes()),
        ("filter.litmus", test("filter (0:EAX=1)\n~exists (0:EAX=0 /\\ 1:EAX=0)").as_bytes()),
    ]);
    let ran = files.run(&["verify", "never.litmus"]);
    assert_eq!(ran.code, 1);
    let first = "FAILS under tso  never.litmus: `~exists (0:EAX=0 /\\ 1:EAX=0)` does not hold: it can end with";
    assert!(ran.out.starts_with(first), "{}", ran.out);
    assert!(ran.out.contains("does not hold under tso, though it does under SC"), "{}", ran.out);
    // The execution ends like that.
    let json: Value =
        serde_json::from_str(&files.run(&["verify", "never.litmus", "--format", "json"]).out).expect("JSON");
    let schedule = json["results"][0]["failures"][0]["schedule"].as_str().expect("a schedule").to_owned();
    let ran = files.run(&["replay", "never.litmus", &schedule, "--model", "tso"]);
    assert!(ran.code == 0 && ran.out.contains("not sequentially consistent"), "{}", ran.out);

    let ran = files.run(&["verify", "all.litmus"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    let first = "safe under tso  all.litmus: not SC, but its condition holds in all of its 4 executions";
    assert!(ran.out.starts_with(first), "{}", ran.out);
    assert_eq!(files.run(&["verify", "all.litmus", "--property", "robust"]).code, 1);

    // It goes wrong under SC already.
    let ran = files.run(&["verify", "wrong.litmus"]);
    assert!(ran.code == 1 && ran.out.contains("does not hold, under SC neither"), "{}", ran.out);

    let ran = files.run(&["verify", "asks.litmus"]);
    assert!(ran.code == 1 && ran.out.contains("happens under tso, and never under SC"), "{}", ran.out);
    assert_eq!(files.run(&["verify", "asks.litmus", "--property", "errors"]).code, 0);

    // Executions that the filter leaves out refute nothing.
    let ran = files.run(&["verify", "filter.litmus"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
}
