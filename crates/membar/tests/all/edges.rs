//! Traces at the edge of what can be decided, and bugs of our own: lost updates, corrupt final values, a missing `check`, panics.

use crate::common;

use common::{BAD, FINE, Files, Ran, run_with};
use serde_json::Value;
use std::io::Write;

/// Two that add 1 to 5 and write 6, in every dress.
const LOST: &[(&str, &str)] = &[
    ("init x == 5\n0: { x == 5; x := 6 }\n1: { x == 5; x := 6 }\nfinal x == 6\ncheck\n", "with init and final"),
    ("0: { M[3] == 0; M[3] := 1 }\n1: { M[3] == 0; M[3] := 1 }\ncheck\n", "without init"),
    ("0: x := 5\n1: { x == 5; x := 6 }\n2: { x == 5; x := 6 }\ncheck\n", "the value of a store"),
    ("0: { x == 0; x := 1 }\n1: { x == 0; x := 1 }\n2: { x == 0; x := 1 }\n3: x == 1\ncheck\n", "three of them"),
    ("0: { x == 0; x := 1 }\n0: { x == 0; x := 1 }\ncheck\n", "of one thread"),
    ("0: { x == 0; x := 1 }\n1: { x == 0; x := 1 }\n2: { x == 1; x := 2 }\nfinal x == 2\ncheck\n", "read by a third"),
    ("0: { x == 0; x := 1 } @ 1:9\n1: { x == 0; x := 1 } @ 3:7\nfinal x == 1\ncheck\n", "with times"),
    ("0: { x == 0; x := 1 }\n1: { x == 0; x := 1 }\n0: y := 3\norder x: 1\norder y: 3\ncheck\n", "with orders"),
    ("0: acq L\n0: { x == 0; x := 1 }\n0: rel L\n1: { x == 0; x := 1 }\n1: y == 0\ncheck\n", "with a lock"),
];

const MODELS: [&str; 10] = ["sc", "tso", "pso", "wmo", "rmo", "wc", "rc", "rcpc", "ec", "scope"];

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}{}", ran.out, ran.err))
}

#[test]
fn a_lost_update_is_forbidden_by_every_model_with_a_write_order() {
    for (text, what) in LOST {
        for model in MODELS {
            for clock in ["local", "global"] {
                let ran = run_with(&["check", "-", "--model", model, "--clock", clock], text.as_bytes());
                assert_eq!(ran.code, 1, "{what}, {model}: {}{}", ran.out, ran.err);
                assert!(ran.out.starts_with("FORBIDDEN") && ran.out.contains("Note: "), "{what}: {}", ran.out);
            }
        }
        let open = run_with(&["check", "-", "--model", "lc"], text.as_bytes());
        // The operations of one thread are in order there too.
        let expected = if *what == "of one thread" { 1 } else { 3 };
        assert_eq!(open.code, expected, "{what}: {}{}", open.out, open.err);
        assert_eq!(open.out.contains("Values are repeated"), expected == 3, "{what}: {}", open.out);

        let result = json(&run_with(&["check", "-", "-f", "json"], text.as_bytes()))["results"][0].clone();
        assert_eq!((&result["verdict"], &result["certified"]), (&"forbidden".into(), &true.into()), "{what}");
        let ops = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count();
        assert_eq!(result["ops"], ops, "{what}");
        assert!(result["left_out"]["message"].as_str().unwrap().contains("is written twice"), "{what}: {result}");
        assert_eq!(result["left_out"]["lines"].as_array().unwrap().len(), 2, "{what}");
        // The part kept of the violation decides it once more.
        let reduced = result["violation"]["reduced"]["trace"].as_str().unwrap();
        assert_eq!(run_with(&["check", "-"], reduced.as_bytes()).code, 1, "{what}: {reduced}");

        let files = Files::new(&[("lost.trace", text.as_bytes())]);
        let shrunk = files.run(&["shrink", "lost.trace"]);
        assert_eq!(shrunk.code, 1, "{what}: {}", shrunk.err);
        let atomics = shrunk.out.lines().filter(|line| line.contains("{ ")).count();
        assert_eq!(atomics, 2, "{what}: {}", shrunk.out);
        assert_eq!(run_with(&["check", "-"], shrunk.out.as_bytes()).code, 1, "{what}: {}", shrunk.out);
        let page = files.run(&["check", "lost.trace", "--html", "page.html"]);
        assert_eq!(page.code, 1, "{what}");
        assert_eq!(common::page_data(&files.path("page.html"))["cases"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn lost_updates_in_a_stream() {
    let text = [FINE, LOST[0].0, FINE, LOST[3].0, BAD].concat();
    for jobs in ["1", "3"] {
        let ran = run_with(&["check", "-", "--format", "axe", "--jobs", jobs], text.as_bytes());
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (1, "OK\nNO\nOK\nNO\nNO\n", ""));
    }
}

#[test]
fn a_final_value_that_nobody_wrote_is_forbidden() {
    for text in [
        "0: x := 1\nfinal x == 3\ncheck\n",
        "init x == 2\n0: x := 1\nfinal x == 0\ncheck\n",
        "0: y := 3\nfinal x == 3\ncheck\n",
        "0: x := 1\norder x: 1\nfinal x == 3\ncheck\n",
        "0: { x == 0; x := 1 }\n1: { x == 1; x := 2 }\nfinal y == 0\nfinal x == 3\ncheck\n",
    ] {
        for model in MODELS.into_iter().chain(["lc"]) {
            let ran = run_with(&["check", "-", "--model", model], text.as_bytes());
            assert_eq!(ran.code, 1, "{model}: {text}{}{}", ran.out, ran.err);
            assert!(ran.out.contains("is one that nobody wrote"), "{}", ran.out);
        }
        let result = json(&run_with(&["check", "-", "-f", "json"], text.as_bytes()))["results"][0].clone();
        assert_eq!((&result["certified"], &result["algorithm"]), (&true.into(), &"values".into()));
        let reduced = result["violation"]["reduced"]["trace"].as_str().unwrap();
        assert_eq!(run_with(&["check", "-"], reduced.as_bytes()).code, 1, "{reduced}");
        let files = Files::new(&[("t", text.as_bytes())]);
        let shrunk = files.run(&["shrink", "t"]);
        assert_eq!(shrunk.code, 1, "{}", shrunk.err);
        assert_eq!(run_with(&["check", "-"], shrunk.out.as_bytes()).code, 1, "{}", shrunk.out);
        assert_eq!(files.run(&["check", "t", "--html", "page.html"]).code, 1);
        assert_eq!(common::page_data(&files.path("page.html"))["cases"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn the_last_check_may_be_missing() {
    let open = FINE.trim_end_matches("check\n");
    let note = |file: &str, trace: u64| {
        format!("note: {file} ends without the `check` of trace {trace}; the trace was taken to be complete\n")
    };
    for jobs in ["1", "2"] {
        let text = [BAD, open].concat();
        let ran = run_with(&["check", "-", "--format", "axe", "--jobs", jobs], text.as_bytes());
        assert_eq!((ran.code, ran.out.as_str(), ran.err), (1, "NO\nOK\n", note("<stdin>", 2)));
    }
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(open.as_bytes()).unwrap();
    let forbidden = BAD.trim_end_matches("check\n");
    let files = Files::new(&[("t.gz", &gz.finish().unwrap()), ("bad", forbidden.as_bytes())]);
    let ran = files.run(&["check", "t.gz", "-f", "json"]);
    assert_eq!((ran.code, &json(&ran)["results"][0]["without_check"], ran.err), (0, &true.into(), note("t.gz", 1)));
    let closed = json(&run_with(&["check", "-", "-f", "json"], FINE.as_bytes()));
    assert_eq!(closed["results"][0].get("without_check"), None);
    let shrunk = files.run(&["shrink", "bad"]);
    assert!(shrunk.code == 1 && shrunk.err.starts_with(&note("bad", 1)), "{}", shrunk.err);
    // Without the end of its last line a recording may have been cut off.
    assert_eq!(run_with(&["check", "-"], open.trim_end().as_bytes()).code, 2);
}

/// A machine that stamps a pair of a load-linked and a store-conditional with the times of the load-linked alone.
#[test]
fn an_atomic_whose_end_matters_is_pointed_out() {
    let text = b"0: { M[0] == 0; M[0] := 1 } @ 10:20\n1: M[0] == 0 @ 30:40\ncheck\n";
    let ran = run_with(&["check", "-", "--model", "wmo", "--clock", "global"], text);
    assert_eq!(ran.code, 1, "{}", ran.out);
    let said = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("the end of the read-modify-write at line 1"), "{said}");
    let open = b"0: { M[0] == 0; M[0] := 1 } @ 10:\n1: M[0] == 0 @ 30:40\ncheck\n";
    assert_eq!(run_with(&["check", "-", "--model", "wmo", "--clock", "global"], open).code, 0);
}

/// `MEMBAR_DEBUG_PANIC` is for debug builds only.
#[cfg(debug_assertions)]
mod bugs {
    use super::common::{self, BAD, FINE, Files, Ran};
    use std::process::Stdio;

    fn with_panic(files: &Files, place: &str, args: &[&str], stdin: Option<&str>) -> Ran {
        let mut command = common::command();
        command.args(args).current_dir(files.0.path()).env("MEMBAR_DEBUG_PANIC", place);
        match stdin {
            Some(name) => command.stdin(std::fs::File::open(files.path(name)).unwrap()),
            None => command.stdin(Stdio::null()),
        };
        let output = command.output().expect("it runs");
        Ran {
            code: output.status.code().expect("an exit code"),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    #[test]
    fn one_lost_answer_leaves_the_others() {
        let three = [FINE, FINE, BAD].concat();
        let files = Files::new(&[("three", three.as_bytes()), ("fine", FINE.as_bytes())]);
        for jobs in ["1", "2"] {
            let args = ["check", "three", "fine", "--format", "axe", "--jobs", jobs];
            let ran = with_panic(&files, "three:2:tso", &args, None);
            assert_eq!((ran.code, ran.out.as_str()), (4, "OK\nUNDECIDED\nNO\nOK\n"), "{}", ran.err);
            assert!(ran.err.starts_with("internal error: three, trace 2, model tso: panicked at "), "{}", ran.err);
            assert!(ran.err.contains("guard.rs:") && ran.err.contains("Please report it"), "{}", ran.err);
        }
        let args = ["check", "three", "--model", "sc", "--model", "tso", "--model", "pso"];
        let table = with_panic(&files, "three:2:tso", &args, None);
        assert_eq!(table.code, 4);
        let words = |line: &str| line.split_whitespace().skip(4).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(table.out.lines().nth(2).unwrap()), ["allowed", "error", "allowed"], "{}", table.out);
        assert!(table.out.contains("1 internal error"), "{}", table.out);
        let args = ["check", "-", "-f", "json"];
        let json = with_panic(&files, "<stdin>:1:tso", &args, Some("three"));
        let found: serde_json::Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!((json.code, found["results"].as_array().unwrap().len()), (4, 2));
        assert_eq!((found["errors"].as_array().unwrap().len(), &found["errors"][0]["trace"]), (1, &0.into()));
        // Bad input besides does not hide it.
        let ran = with_panic(&files, "three:2:tso", &["check", "three", "missing"], None);
        assert_eq!(ran.code, 4, "{}", ran.err);
        let ran = with_panic(&files, "three:3:tso", &["shrink", "three", "--trace", "3"], None);
        assert_eq!(ran.code, 4, "{}", ran.err);
    }

    #[test]
    fn a_campaign_says_how_to_see_it_again() {
        let files = Files::new(&[]);
        for jobs in ["1", "2"] {
            let args = ["simulate", "--machine", "tso", "--tests", "3", "--operations", "50", "--jobs", jobs];
            let ran = with_panic(&files, "the trace:1:tso", &args, None);
            assert_eq!(ran.code, 4, "{}{}", ran.out, ran.err);
            assert!(ran.err.starts_with("internal error: membar simulate --machine tso"), "{}", ran.err);
        }
    }

    #[test]
    fn anywhere_else_it_is_exit_code_4_as_well() {
        let files = Files::new(&[]);
        for args in [&["litmus", "x.litmus"][..], &["verify", "x.litmus"], &["monitor", "-"], &["models"], &["stress"]]
        {
            let ran = with_panic(&files, "command", args, None);
            assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{args:?}: {}", ran.err);
            assert!(ran.err.starts_with("internal error: panicked at ") && ran.err.contains("a bug in membar"));
        }
    }
}
