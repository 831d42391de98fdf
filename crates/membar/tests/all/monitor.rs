//! `membar monitor`, as users run it.

use crate::common;

use common::{Files, Ran, run, run_with};
use membar_simulate::{Mix, Workload};
use membar_testkit::interleaving;
use serde_json::Value;
use std::io::Write;

/// Store buffering, in an order in which nothing goes wrong.
const SB: &str = "0: x := 1 ! sb.c:1\n0: y == 0 ! sb.c:2\n1: y := 1 ! sb.c:7\n1: x == 1 ! sb.c:8\ncheck\n";
const FENCED: &str = "0: x := 1\n0: sync\n0: y == 0\n1: y := 1\n1: sync\n1: x == 1\ncheck\n";
/// Message passing: safe under tso.
const MP: &str = "0: x := 1\n0: y := 1\n1: y == 1\n1: x == 1\ncheck\n";

fn monitor(text: &str, args: &[&str]) -> Ran {
    run_with(&[&["monitor", "-"], args].concat(), text.as_bytes())
}

fn json(text: &str, args: &[&str]) -> Value {
    let ran = monitor(text, &[&["--format", "json"], args].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out))
}

#[test]
fn a_violation_is_told_in_its_first_lines() {
    let ran = monitor(SB, &["--monitor", "tso"]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    insta::assert_snapshot!(ran.out, @r"
    UNSAFE under tso  <stdin>, trace 1 (line 1): 4 events, 2 threads, 2 addresses
      Store: line 1, thread 0: x := 1 (sb.c:1) can wait in its store buffer
      Past:  line 4, thread 1: x == 1 (sb.c:8) while this reads memory without it
      Cycle: Line 1 is before line 2 in thread 0, line 3 overwrites what line 2 read, line 3 is before
             line 4 in thread 1 and line 4 reads before line 1 is in memory.
      Fence: Needed between line 1 and line 2 of thread 0 and between line 3 and line 4 of thread 1.
    ");
}

#[test]
fn safe_is_said_of_this_interleaving_only() {
    let ran = monitor(FENCED, &[]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("safe under tso") && ran.out.contains("safe under pso"), "{}", ran.out);
    assert!(ran.out.contains("on this interleaving; others of the same program may differ"), "{}", ran.out);
    assert_eq!(monitor(FENCED, &["-q"]).out, "");
}

#[test]
fn pso_is_weaker() {
    let ran = monitor(MP, &[]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("safe under tso") && ran.out.contains("UNSAFE under pso"), "{}", ran.out);
    assert!(ran.out.contains("a store-store barrier is enough"), "{}", ran.out);
    let ordered = MP.replace("0: y", "0: membar #StoreStore\n0: y");
    assert_eq!(monitor(&ordered, &[]).code, 0);
}

#[test]
fn all_four_monitors() {
    let figure_8 = "1: a := 1\n1: b == 0\n2: a := 2\n3: b := 1\n3: a == 2\ncheck\n";
    let args =
        ["--monitor", "tso", "--monitor", "pso", "--monitor", "sober", "--monitor", "sober-fixed", "--monitor", "tso"];
    let found = json(figure_8, &args);
    let verdicts: Vec<_> =
        found["results"].as_array().unwrap().iter().map(|r| (&r["monitor"], &r["verdict"])).collect();
    let shown = format!("{verdicts:?}").replace("String(", "").replace([')', '('], "");
    assert_eq!(shown, r#"["tso", "safe", "pso", "safe", "sober", "unsafe", "sober-fixed", "unsafe"]"#);
}

#[test]
fn json_has_everything() {
    let found = json(SB, &["--monitor", "tso"]);
    assert_eq!((&found["schema"], &found["errors"]), (&1.into(), &Value::Array(vec![])));
    let result = &found["results"][0];
    for (field, value) in [("file", "<stdin>"), ("monitor", "tso"), ("verdict", "unsafe")] {
        assert_eq!(result[field], value);
    }
    for (field, value) in [("trace", 0), ("line", 1), ("events", 4), ("threads", 2), ("addresses", 2), ("total", 1)] {
        assert_eq!(result[field], value);
    }
    assert_eq!((&result["complete"], &result["labelled"]), (&true.into(), &true.into()));
    let violation = &result["violations"][0];
    let op = |thread: u32, line: u32, text: &str, label: &str| serde_json::json!({"thread": thread, "line": line, "text": text, "label": label});
    assert_eq!(violation["store"], op(0, 1, "x := 1", "sb.c:1"));
    assert_eq!(violation["access"], op(1, 4, "x == 1", "sb.c:8"));
    assert_eq!(violation["prev"], op(1, 3, "y := 1", "sb.c:7"));
    assert_eq!(violation["count"], 1);
    let cycle: Vec<_> =
        violation["cycle"].as_array().unwrap().iter().map(|edge| edge["by"].as_str().unwrap()).collect();
    assert_eq!(cycle, ["po", "fr", "po", "fr"]);
    assert_eq!(violation["cycle"][0]["fence"], "full");
}

#[test]
fn violations_are_grouped_by_instruction() {
    let round = |k: u32| {
        let old = k.saturating_sub(1);
        format!("0: x := {k} ! a\n0: y == {old} ! b\n1: y := {k} ! c\n1: x == {k} ! d\n0: sync\n1: sync\n")
    };
    let text: String = (1..=5).map(round).collect::<String>() + "check\n";
    let found = json(&text, &["--monitor", "tso"]);
    let result = &found["results"][0];
    assert_eq!((&result["total"], &result["violations"][0]["count"]), (&5.into(), &5.into()));
    assert_eq!(result["violations"].as_array().unwrap().len(), 1);
    let plain = text.replace(" ! a", "").replace(" ! b", "").replace(" ! c", "").replace(" ! d", "");
    let ran = monitor(&plain, &["--monitor", "tso"]);
    assert!(ran.out.contains("1 violation, seen 5 times") && ran.out.contains("(5 times)"), "{}", ran.out);
    assert!(ran.out.contains("count as one instruction; labels"), "{}", ran.out);
}

#[test]
fn the_witness_is_a_run_with_commits() {
    let files = Files::new(&[("sb", SB.as_bytes()), ("fenced", FENCED.as_bytes())]);
    assert_eq!(files.run(&["monitor", "sb", "--witness", "w"]).code, 1);
    let text = std::fs::read_to_string(files.path("w")).unwrap();
    assert_eq!(
        text,
        "# sb, as the monitor tso runs it\nissue  0: x := 1  # line 1\nload   0: y == 0  # line 2\n\
         issue  1: y := 1  # line 3\nload   1: x == 0  # line 4\ncommit 0: x := 1  # line 1\ncommit 1: y := 1  # line 3\n\
         # possible under tso, but not sequentially consistent: line 4 went before line 1\n"
    );
    assert_eq!(files.run(&["monitor", "fenced", "--witness", "w"]).code, 0);
    let text = std::fs::read_to_string(files.path("w")).unwrap();
    assert!(text.contains("fence  0: sync") && text.ends_with("# no violation: this run is sequentially consistent\n"));
    let ran = files.run(&["monitor", "sb", "--witness", "no/where"]);
    assert!(ran.code == 2 && ran.err.contains("cannot write no/where"), "{}", ran.err);
    let ran = files.run(&["monitor", "sb", "--witness", "w", "--monitor", "sober"]);
    assert!(ran.code == 2 && ran.err.contains("no witness"), "{}", ran.err);
}

/// Initial values are what an overtaking load reads.
#[test]
fn a_witness_knows_initial_values() {
    let files = Files::new(&[("sb", format!("init x == 7\n{SB}").as_bytes())]);
    files.run(&["monitor", "sb", "--witness", "w", "--monitor", "pso"]);
    let text = std::fs::read_to_string(files.path("w")).unwrap();
    assert!(text.contains("load   1: x == 7  # line 5\n"), "{text}");
}

#[test]
fn threads_start_and_end_and_locks_synchronise() {
    let spawned = "0: data := 1\n0: start 1\n1: data == 1\n1: data := 2\n0: join 1\n0: data == 2\ncheck\n";
    let locked = "0: acq L\n0: x := 1\n0: y == 0\n0: rel L\n1: acq L\n1: y := 1\n1: x == 1\n1: rel L\ncheck\n";
    let ran = monitor(
        &[spawned, locked].concat(),
        &["--monitor", "tso", "--monitor", "pso", "--monitor", "sober", "--monitor", "sober-fixed"],
    );
    assert_eq!((ran.code, ran.out.matches("safe under").count()), (0, 8), "{}", ran.out);
    assert!(ran.out.contains("trace 2 (line 8): 8 events, 2 threads, 2 addresses, 1 lock"), "{}", ran.out);
}

#[test]
fn check_refuses_monitor_input_and_ignores_labels() {
    let ran = run_with(&["check", "-"], b"0: start 1\ncheck\n");
    assert!(ran.code == 2 && ran.err.contains("`start` is for `membar monitor`"), "{}", ran.err);
    let ran = run_with(&["check", "-"], b"0: x := 1 ! a.c:3\n1: x == 1\ncheck\n");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn bad_input_has_a_place_and_a_fix() {
    for (text, says) in [
        (
            "0: x := 1\n1: x == 0\ncheck\n",
            "not a sequentially consistent interleaving: x == 0, but `x` holds 1 since line 1",
        ),
        ("0: x ?= 1\ncheck\n", "<stdin>:1:6"),
        ("0: acq L\n1: acq L\ncheck\n", "thread 0 holds it since line 1"),
        ("0: x := 1\nfinal x == 3\ncheck\n", "final x == 3"),
        ("0: start 0\ncheck\n", "starts itself"),
        ("0: x := 1", "expected `check`"),
        ("", "no trace"),
    ] {
        let ran = monitor(text, &[]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(
            ran.err.starts_with("error: ") && ran.err.contains(says) && ran.err.contains("= help: "),
            "{}",
            ran.err
        );
        let ran = monitor(text, &["--format", "json"]);
        let found: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((ran.code, found["errors"].as_array().unwrap().len()), (2, 1));
    }
    assert_eq!(run(&["monitor", "no-such-file"]).code, 2);
    assert_eq!(run(&["monitor"]).code, 2);
    assert_eq!(monitor(SB, &["--monitor", "x86"]).code, 2);
}

/// Findings before the fault count.
#[test]
fn a_recording_that_was_cut_off() {
    let open = monitor(SB.trim_end_matches("check\n"), &["--monitor", "tso"]);
    assert_eq!(open.code, 1, "{}", open.err);
    assert_eq!(open.err, "note: <stdin> ends without the `check` of trace 1; the trace was taken to be complete\n");
    let found = json(SB.trim_end_matches("check\n"), &["--monitor", "tso"]);
    assert_eq!(found["results"][0]["without_check"], true);
    let ran = monitor(SB.trim_end_matches("\ncheck\n"), &["--monitor", "tso"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.out.starts_with("UNSAFE under tso") && ran.out.contains("could not be read any further"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("expected `check`"), "{}", ran.err);
}

#[test]
fn limits() {
    let mut text = Vec::new();
    let work = Workload { threads: 3, addresses: 4, ops: 100_000, mix: Mix::LOADS_STORES, seed: 1 };
    interleaving(&work, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let stopped = json(&text, &["--stop-at-first"]);
    for result in stopped["results"].as_array().unwrap() {
        assert!(result["events"].as_u64().unwrap() < 1000 && result["stopped"] == "first", "{result}");
    }
    let quiet = "0: x := 1\n".repeat(50_000) + "check\n";
    let ran = monitor(&quiet, &["--time", "0s"]);
    assert!(ran.code == 3 && ran.out.contains("UNDECIDED under tso"), "{} {}", ran.code, ran.out);
    let crowd: String = (0..100_000).map(|thread| format!("{thread}: x := 1\n")).collect::<String>() + "check\n";
    let ran = monitor(&crowd, &["--memory", "100MB"]);
    assert!(ran.code == 3 && ran.out.contains("too many threads and addresses"), "{} {}", ran.code, ran.out);
    let small = json(&text, &["--monitor", "tso", "--window", "3"]);
    let violations = small["results"][0]["violations"].as_array().unwrap();
    assert!(violations.iter().any(|v| v["no_cycle"].as_str().is_some_and(|why| why.contains("--window"))));
    let whole = json(&text, &["--monitor", "tso"]);
    let found = whole["results"][0]["violations"].as_array().unwrap();
    assert!(found.len() > 10 && found.iter().all(|v| !v["cycle"].as_array().unwrap().is_empty()));
}

#[test]
fn several_traces_several_files_and_compressed_ones() {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(MP.as_bytes()).unwrap();
    let files = Files::new(&[("two", [SB, FENCED].concat().as_bytes()), ("mp.gz", &gz.finish().unwrap())]);
    let ran = files.run(&["monitor", "two", "missing", "mp.gz", "--monitor", "tso"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("--> missing"), "{}", ran.err);
    for says in ["UNSAFE under tso  two, trace 1 (line 1)", "safe under tso  two, trace 2 (line 6)", "mp.gz, trace 1"] {
        assert!(ran.out.contains(says), "{}", ran.out);
    }
}
