//! `--format json`: always one valid document, with everything that the text says and more.

use crate::common;

use common::{BAD, FINE, Files, MALFORMED, SB, hard_trace, run_with};
use serde_json::Value;

fn json(args: &[&str], input: &str) -> (i32, Value) {
    let args: Vec<&str> = ["check", "-", "--format", "json"].iter().chain(args).copied().collect();
    let ran = run_with(&args, input.as_bytes());
    (ran.code, serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}\n{}", ran.out)))
}

#[test]
fn an_allowed_trace() {
    let (code, value) = json(&["-v"], SB);
    assert_eq!(code, 0);
    assert_eq!((&value["schema"], &value["errors"]), (&1.into(), &Value::Array(vec![])));
    let result = &value["results"][0];
    for (key, expected) in [
        ("file", Value::from("<stdin>")),
        ("trace", 0.into()),
        ("line", 1.into()),
        ("model", "tso".into()),
        ("verdict", "allowed".into()),
        ("ops", 4.into()),
        ("threads", 2.into()),
        ("addresses", 2.into()),
        ("locks", 0.into()),
        ("certified", true.into()),
    ] {
        assert_eq!(result[key], expected, "{key}");
    }
    assert!(result["seconds"].is_f64() && result["effort"]["passes"].is_u64() && result["algorithm"].is_string());
    let witness = result["witness"].as_array().unwrap();
    assert_eq!(witness.len(), 4);
    assert!(witness.iter().all(|op| op["thread"].is_u64() && op["line"].is_u64() && op["text"].is_string()));
    assert!(json(&[], SB).1["results"][0].get("witness").is_none());
}

#[test]
fn a_violation_with_its_proof() {
    let (code, value) = json(&["--model", "sc"], SB);
    assert_eq!(code, 1);
    let violation = &value["results"][0]["violation"];
    assert_eq!(violation["read"], serde_json::json!({"thread": 0, "line": 2, "text": "y == 0"}));
    assert_eq!(violation["returned"], 0);
    assert_eq!(violation["legal"], serde_json::json!([{"value": 1, "line": 3}]));
    assert_eq!(violation["legal_complete"], true);
    let cycle = violation["cycle"].as_array().unwrap();
    for (edge, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        assert_eq!(edge["to"], next["from"]);
        assert!(["rule", "axiom", "why"].iter().all(|key| edge[key].is_string()));
    }
    let lemmas = violation["lemmas"].as_array().unwrap();
    for lemma in lemmas {
        for (index, step) in lemma["steps"].as_array().unwrap().iter().enumerate() {
            assert!(step["premises"].as_array().unwrap().iter().all(|premise| premise.as_u64() < Some(index as u64)));
        }
    }
    assert_eq!(lemmas.last().unwrap()["assume"], serde_json::json!([]));
    assert!(violation["explanation"].as_array().unwrap().len() >= 2);
}

#[test]
fn initial_and_final_values() {
    let (_, value) = json(&[], "0: x := 1\nfinal x == 0\ncheck\n");
    let cycle = &value["results"][0]["violation"]["cycle"];
    assert_eq!(cycle[0]["to"], serde_json::json!({"initial": true, "address": "x"}));
    let (_, value) = json(&[], "0: x == 5\ncheck\n");
    let violation = &value["results"][0]["violation"];
    assert_eq!((&violation["cycle"], &violation["returned"]), (&serde_json::json!([]), &5.into()));
    assert_eq!(violation["legal"], serde_json::json!([{"value": 0, "line": null}]));
}

#[test]
fn undecided() {
    let (code, value) = json(&["--time", "0s"], &hard_trace());
    let result = &value["results"][0];
    assert_eq!((code, &result["verdict"], &result["certified"]), (3, &"undecided".into(), &false.into()));
    assert_eq!(result["undecided"]["reason"], "time");
    assert!(result["undecided"]["ordered"].is_u64());
}

#[test]
fn a_result_for_each_trace_and_model() {
    let (code, value) = json(&["--model", "sc", "--model", "tso"], &[SB, FINE].concat());
    assert_eq!(code, 1);
    let results: Vec<(u64, &str, &str)> = value["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["trace"].as_u64().unwrap(), r["model"].as_str().unwrap(), r["verdict"].as_str().unwrap()))
        .collect();
    let expected = [(0, "sc", "forbidden"), (0, "tso", "allowed"), (1, "sc", "allowed"), (1, "tso", "allowed")];
    assert_eq!(results, expected);
}

#[test]
fn errors_are_in_the_document_too() {
    let files = Files::new(&[("a \"b\".trace", [FINE, MALFORMED, BAD].concat().as_bytes())]);
    let ran = files.run(&["check", "a \"b\".trace", "missing", "--format", "json", "--keep-going"]);
    assert_eq!(ran.code, 2);
    let value: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(value["results"].as_array().unwrap().len(), 2);
    assert_eq!(value["results"][1]["trace"], 2);
    let errors = value["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 2);
    let first = serde_json::json!({
        "file": "a \"b\".trace", "trace": 1, "line": 4, "column": 6,
        "message": "expected `:=` or `==`, found `=`", "help": "`:=` stores and `==` loads"
    });
    assert_eq!(errors[0], first);
    assert_eq!((&errors[1]["file"], &errors[1]["line"]), (&"missing".into(), &Value::Null));
    assert!(ran.err.contains("error: expected `:=`") && ran.err.contains("--> missing"), "{}", ran.err);
}

#[test]
fn nothing_at_all_is_still_a_document() {
    let (code, value) = json(&[], "");
    assert_eq!(code, 2);
    assert_eq!(value["results"], serde_json::json!([]));
    assert_eq!(value["errors"].as_array().unwrap().len(), 1);
}
