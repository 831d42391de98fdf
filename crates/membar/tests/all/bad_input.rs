//! Any fault in the input gives exit code 2, a place and a fix, and everything else is still answered.

use crate::common;

use common::{BAD, FINE, Files, MALFORMED, run, run_with, spawn};
use std::io::Write;

/// Each with what the message must say.
const FAULTS: &[(&[u8], &str)] = &[
    (b"0: x ?= 1\ncheck\n", "1:6"),
    (b"x := 1\ncheck\n", "1:1"),
    (b"4294967296: x := 1\ncheck\n", "larger than 4294967295"),
    (b"0: x := 18446744073709551616\ncheck\n", "larger than 18446744073709551615"),
    (b"0: { x == 0; y := 1 }\ncheck\n", "reads x but writes y"),
    (b"0: x := 1 @ 20:10\ncheck\n", "ends at 10, before it begins at 20"),
    (b"0: x := 1\n1: x := 1\norder x: 1\ncheck\n", "first written at line 1"),
    (b"0: x := 1\norder x: 2\ncheck\n", "nobody writes"),
    (b"0: { x == 0; x := 1\ncheck\n", "to close `{`"),
    (b"0: x := 1\0\ncheck\n", "NUL"),
    (b"0: x := 1 # \xff\ncheck\n", "UTF-8"),
    (b"", "no trace"),
    (b"# nothing\n", "no trace"),
    (b"0: x := 1", "expected `check`"),
    (b"init x == 1\n", "expected `check`"),
    (b"0: rel L\ncheck\n", "does not hold"),
];

#[test]
fn every_fault_has_a_place_and_a_fix() {
    for (text, says) in FAULTS {
        let files = Files::new(&[("bad.trace", text)]);
        let ran = files.run(&["check", "bad.trace"]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.starts_with("error: ") && ran.err.contains("--> bad.trace:"), "{}", ran.err);
        assert!(ran.err.contains(says) && ran.err.contains("= help: "), "{}", ran.err);
        let piped = run_with(&["check", "-", "--jobs", "2"], text);
        assert_eq!(piped.err, ran.err.replace("bad.trace", "<stdin>"));
    }
}

#[test]
fn verdicts_before_a_fault_stand() {
    let ran = run_with(&["check", "-", "--format", "axe"], [FINE, BAD, MALFORMED, FINE].concat().as_bytes());
    assert_eq!((ran.code, ran.out.as_str()), (2, "OK\nNO\n"));
    assert!(ran.err.contains("<stdin>:7:6"), "{}", ran.err);
}

#[test]
fn keep_going_passes_over_malformed_traces() {
    let text = [MALFORMED, FINE, MALFORMED, BAD].concat();
    let ran = run_with(&["check", "-", "--format", "axe", "--keep-going"], text.as_bytes());
    assert_eq!((ran.code, ran.out.as_str()), (2, "OK\nNO\n"));
    assert_eq!(ran.err.matches("error: ").count(), 2);
    let ran = run_with(&["check", "-", "--keep-going"], text.as_bytes());
    assert!(ran.out.contains("trace 2 (line 3)") && ran.out.contains("trace 4 (line 8)"), "{}", ran.out);
    assert!(ran.out.ends_with("2 traces: 1 allowed, 1 forbidden, 2 errors\n"), "{}", ran.out);
}

#[test]
fn other_files_are_still_answered() {
    let files = Files::new(&[("bad", MALFORMED.as_bytes()), ("fine", FINE.as_bytes())]);
    let ran = files.run(&["check", "missing", ".", "bad", "fine", "--format", "axe"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, "OK\n"));
    for says in ["--> missing", "--> .\n", "--> bad:1:6", "there is no trace in this directory", "cannot open"] {
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

#[test]
fn a_truncated_gz_keeps_what_came_before() {
    let trace = |i: u32| format!("0: x := {}\ncheck\n", i.wrapping_mul(2_654_435_761) | 1);
    let text: String = (0..50_000).map(trace).collect();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let mut bytes = gz.finish().unwrap();
    bytes.truncate(bytes.len() - 20_000);
    let files = Files::new(&[("cut.trace.gz", &bytes)]);
    let ran = files.run(&["check", "cut.trace.gz", "--format", "axe", "--keep-going"]);
    assert_eq!(ran.code, 2);
    assert!(ran.out.starts_with("OK\nOK\n"));
    assert!(ran.err.contains("cut.trace.gz:"), "{}", ran.err);
    let files = Files::new(&[("cut.trace.gz", &bytes[..100])]);
    let ran = files.run(&["check", "cut.trace.gz", "--format", "axe"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("gzip"), "{}", ran.err);
}

#[test]
fn carriage_returns_are_no_fault() {
    let ran = run_with(&["check", "-", "--format", "axe"], FINE.replace('\n', "\r\n").as_bytes());
    assert_eq!((ran.code, ran.out.as_str()), (0, "OK\n"));
}

#[test]
fn a_line_of_100_megabytes() {
    let mut child = spawn(&["check", "-", "--format", "axe", "--keep-going"]);
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        stdin.write_all(FINE.as_bytes()).unwrap();
        for _ in 0..100 {
            stdin.write_all(&[b'x'; 1 << 20]).unwrap();
        }
        stdin.write_all(b"\ncheck\n").unwrap();
        stdin.write_all(FINE.as_bytes()).unwrap();
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, b"OK\nOK\n");
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("the line is longer than") && err.len() < 1000, "{err}");
}

#[test]
fn bad_usage() {
    for (args, says) in [
        (&["chek"][..], "similar subcommand exists: 'check'"),
        (&["check"], "TRACE"),
        (&["check", "-", "--modle", "tso"], "--model"),
        (&["check", "-", "--format", "xml"], "possible values: text, json, axe"),
        (&["check", "-", "-q", "-v"], "cannot be used with"),
        (&["shrink"], "TRACE"),
        (&["models", "show", "tos"], "did you mean `tso`?"),
        (&["man", "nothing"], "there is no command"),
        (&["completions", "nosh"], "possible values"),
    ] {
        let ran = run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.contains(says), "{args:?}: {}", ran.err);
    }
}
