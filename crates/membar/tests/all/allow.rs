//! Violations that are allowed: by comments and flags, in text, JSON and SARIF. Catches a violation that is allowed by something that is
//! not about it, and one that no longer needs it.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::common::{Files, Ran};
use serde_json::Value;

/// Store buffering in C; both loads have a line to themselves.
fn program(first: &str, second: &str) -> String {
    format!(
        "#include <pthread.h>\nstatic volatile int x, y, a, b;\nstatic void *one(void *arg)\n{{\n    x = 1;\n    {first}\n    a = y;\n    \
         return arg;\n}}\nint main(void)\n{{\n    pthread_t t;\n    pthread_create(&t, 0, one, 0);\n    y = 1;\n    b = x; {second}\n    \
         pthread_join(t, 0);\n    return 0;\n}}\n"
    )
}

const COMMENT: &str = "// membar: allow stale";

fn json(ran: &Ran) -> Value {
    serde_json::from_str::<Value>(&ran.out).expect("JSON")["results"][0].clone()
}

fn verdict(report: &Value) -> (&str, usize, usize) {
    let violations = report["violations"].as_array().expect("a list");
    let allowed = violations.iter().filter(|violation| violation.get("allowed").is_some()).count();
    (report["verdict"].as_str().expect("a verdict"), violations.len() - allowed, allowed)
}

#[test]
fn comments_and_flags_take_violations_out_of_the_verdict() {
    for (first, second, flags, expected, notes) in [
        ("", "", &[][..], ("unsafe", 1, 0), 0),
        (COMMENT, "", &[], ("safe", 0, 1), 0),
        ("", COMMENT, &[], ("safe", 0, 1), 0),
        // Both are about the one cycle.
        (COMMENT, COMMENT, &[], ("safe", 0, 1), 0),
        ("", "", &["--allow", "sb.c:7"], ("safe", 0, 1), 0),
        ("", "", &["--allow", "./sb.c:15"], ("safe", 0, 1), 0),
        // About another line or another file.
        ("", "", &["--allow", "sb.c:8"], ("unsafe", 1, 0), 1),
        ("", "", &["--allow", "b.c:7"], ("unsafe", 1, 0), 1),
        ("", "/* membar: deny stale */", &[], ("unsafe", 1, 0), 0),
    ] {
        let files = Files::new(&[("sb.c", program(first, second).as_bytes())]);
        let ran = files.run(&[&["verify", "sb.c", "--format", "json"], flags].concat());
        let report = json(&ran);
        let shown = format!("{first} {second} {flags:?}: {} {}", ran.out, ran.err);
        assert_eq!(verdict(&report), expected, "{shown}");
        assert_eq!(ran.code, i32::from(expected.0 == "unsafe"), "{shown}");
        let unneeded =
            report["notes"].as_array().map_or(0, |notes| notes.iter().filter(|note| note["kind"] == "allow").count());
        assert_eq!(unneeded, notes, "{shown}");
    }
}

#[test]
fn a_failure_that_follows_from_an_allowed_violation_is_fixed() {
    let fails = program(COMMENT, "").replace("    return 0;", "    if (!a && !b) __builtin_abort();\n    return 0;");
    let files = Files::new(&[("sb.c", fails.as_bytes())]);
    for model in ["tso", "c11"] {
        let ran = files.run(&["verify", "sb.c", "--assume", "volatile=atomic", "--model", model]);
        assert_eq!((ran.code, ran.out.starts_with("safe")), (0, true), "{}", ran.out);
    }
    let relaxed = fails.replace("static volatile int", "static _Atomic int");
    let relaxed = relaxed.replace("x = 1", "__atomic_store_n(&x, 1, 0)").replace("y = 1", "__atomic_store_n(&y, 1, 0)");
    let relaxed = relaxed.replace("a = y", "a = __atomic_load_n(&y, 0)").replace("b = x", "b = __atomic_load_n(&x, 0)");
    let files = Files::new(&[("sb.c", relaxed.as_bytes())]);
    for model in ["tso", "c11"] {
        let ran = files.run(&["verify", "sb.c", "--model", model]);
        assert_eq!((ran.code, ran.out.starts_with("FAILS")), (1, true), "{}", ran.out);
        assert!(ran.out.contains("\n  Fix:  ") && ran.out.contains("checked: safe with"), "{}", ran.out);
    }
}

#[test]
fn what_nothing_needs_is_said() {
    let fixed = program(COMMENT, "").replace("x = 1;", "x = 1; __sync_synchronize();");
    let fixed = fixed.replace("y = 1;", "y = 1; __sync_synchronize();");
    let files = Files::new(&[("sb.c", fixed.as_bytes())]);
    let ran = files.run(&["verify", "sb.c", "--model", "tso,pso"]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    let said = "sb.c:6: `membar: allow stale` is not needed: no violation under tso or pso has an access";
    assert!(ran.out.contains(said), "{}", ran.out);
    let ran = files.run(&["verify", "sb.c", "--format", "sarif"]);
    assert!(ran.out.contains("is not needed"), "{}", ran.out);
    // As long as the search has not ended it may be needed.
    let ran = files.run(&["verify", "sb.c", "--strategy", "random", "--executions", "5"]);
    assert!(ran.code == 3 && !ran.out.contains("is not needed"), "{}", ran.out);
}

#[test]
fn an_allowed_violation_is_still_told() {
    let files = Files::new(&[("sb.c", program("", COMMENT).as_bytes())]);
    let ran = files.run(&["verify", "sb.c"]);
    let first = "safe under tso  sb.c: sequentially consistent, but for 1 violation that is allowed";
    assert_eq!(ran.out.lines().next(), Some(first), "{}", ran.out);
    assert!(ran.out.contains("1 violation is allowed: `membar: allow stale` at sb.c:15"), "{}", ran.out);
    let ran = files.run(&["verify", "sb.c", "--format", "sarif"]);
    let document: Value = serde_json::from_str(&ran.out).expect("JSON");
    let result = &document["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["suppressions"][0]["kind"]), (&"tso-violation".into(), &"inSource".into()));
}

#[test]
fn litmus_tests_have_lines_too() {
    let sb = include_bytes!("../../../../examples/litmus/SB.litmus");
    let files = Files::new(&[("SB.litmus", sb)]);
    let report = json(&files.run(&["verify", "SB.litmus", "--format", "json"]));
    let line = report["violations"][0]["access"]["line"].as_u64().expect("a line");
    let ran = files.run(&["verify", "SB.litmus", "--allow", &format!("SB.litmus:{line}")]);
    assert_eq!(ran.code, 0, "{}", ran.out);
}

#[test]
fn malformed_flags_are_bad_usage() {
    let files = Files::new(&[("sb.c", program("", "").as_bytes())]);
    for flag in ["7", "sb.c", "sb.c:", "sb.c:0", ":7", "sb.c:x", "sb.c:99999999999"] {
        let ran = files.run(&["verify", "sb.c", "--allow", flag]);
        assert!(ran.code == 2 && ran.err.contains("queue.c:31"), "{flag}: {}", ran.err);
    }
}
